// Writes a temporary file beside the target, then fsync, rename, fsync of the directory.
#include "base/os/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/error.hpp"
#include "base/os/descriptor_posix.hpp"

namespace dl4::os {
namespace {

[[noreturn]] void refuse(const char *what, const std::string &path, int error) {
  throw Error(error == ENOENT && std::string_view(what) == "open" ? Code::not_found : Code::io,
              text("cannot ", what, " \"", path, "\": ", std::generic_category().message(error)))
      .with("path", path);
}

std::string folder_of(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Resolves symbolic links. If the target does not exist, returns the name that the last link points to.
std::string resolved(const std::string &path) {
  std::string at = path;
  for (int links = 0; links < 40; ++links) {  // realpath detects cycles; this bounds a chain that changes meanwhile
    std::unique_ptr<char, decltype(&std::free)> real(realpath(at.c_str(), nullptr), &std::free);
    if (real) return real.get();
    if (errno != ENOENT) refuse("write", path, errno);
    char next[PATH_MAX];
    ssize_t n = readlink(at.c_str(), next, sizeof next);
    if (n < 0) {
      if (errno != EINVAL && errno != ENOENT) refuse("write", path, errno);
      return at;
    }
    std::string to(next, static_cast<size_t>(n));
    at = to[0] == '/' ? to : folder_of(at) + '/' + to;
  }
  refuse("write", path, ELOOP);
}

// Creates a new file in `folder` and returns its name. Leftovers of killed processes are skipped: they may belong to a
// live process in another container or on another machine.
int create(const std::string &folder, mode_t mode, std::string &name) {
  for (int tries = 0; tries < 100; ++tries) {
    name = text(folder, "/.dl4-", getpid(), '-', std::chrono::system_clock::now().time_since_epoch().count(), ".tmp");
    int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

void write_all(int fd, std::string_view rest, const std::string &path) {
  while (!rest.empty()) {
    const ssize_t n = write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("write", path, errno);
    rest.remove_prefix(static_cast<size_t>(n));
  }
}

// Makes a rename in `folder` durable and says whether it is. `folder` is -1 if it could not be opened for reading;
// `file` is the renamed file.
bool sync_rename(int folder, int file) {
  if (folder >= 0 && fsync(folder) == 0) return true;
  // Where a directory can't be synced, or not by this user, the whole file system can.
  if (folder >= 0 && errno != EINVAL && errno != ENOTSUP) return false;
#if defined(__linux__)
  return syncfs(file) == 0;
#else
  return fsync(file) == 0;
#endif
}

}  // namespace

std::filesystem::path path(const std::string &utf8) {
  if (utf8.find('\0') != std::string::npos)
    throw Error(Code::io, text("cannot open \"", utf8, "\": expected a path, got one with a NUL")).with("path", utf8);
  return utf8;
}

std::string utf8(const std::filesystem::path &path) { return path.string(); }

File::File(const std::string &path)
    : path_(os::path(path).string()),
      handle_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {  // opening a pipe would block
  const int fd = static_cast<int>(handle_);
  if (fd < 0) refuse("open", path, errno);
  struct stat info {};
  const int error = fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  const bool regular = S_ISREG(info.st_mode);
  size_ = info.st_size;
  if (error == 0 && regular) return;
  close(fd);
  if (error) refuse("read", path, error);
  throw Error(Code::io, text("cannot read \"", path, "\": expected a regular file, got a pipe, socket or device"))
      .with("path", path);
}

File::~File() { close(static_cast<int>(handle_)); }

size_t File::read(int64_t at, std::span<std::byte> to) const {
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = pread(static_cast<int>(handle_), to.data() + done, to.size() - done,
                            static_cast<off_t>(at + static_cast<int64_t>(done)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("read", path_, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

void write_file(const std::string &path, std::span<const std::string_view> parts) {
  const std::string target = resolved(os::path(path).string()), folder = folder_of(target);
  struct stat old {};
  bool exists = stat(target.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) refuse("write", path, errno);
  if (exists && !S_ISREG(old.st_mode)) refuse("write", path, S_ISDIR(old.st_mode) ? EISDIR : EINVAL);
  if (exists && access(target.c_str(), W_OK) != 0) refuse("write", path, errno);
  // Opened before anything changes: if it can't be synced, the write does not begin.
  Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory < 0 && errno != EACCES) refuse("write", path, errno);
  std::string temporary;
  Descriptor fd(create(folder, exists ? 0600 : 0666, temporary));
  if (fd < 0) refuse("write", path, errno);
  struct Remove {
    const std::string &name;
    bool active = true;
    ~Remove() {
      if (active) unlink(name.c_str());
    }
  } remove{temporary};

  if (exists) {
    if (fchmod(fd, old.st_mode & 07777) != 0) refuse("write", path, errno);
    // Only root may change a file's owner; otherwise the file becomes the caller's, as with an editor.
    if ((old.st_uid != geteuid() || old.st_gid != getegid()) && fchown(fd, old.st_uid, old.st_gid) != 0 &&
        errno != EPERM)
      refuse("write", path, errno);
  }
  for (std::string_view part : parts) write_all(fd, part, path);
  if (fsync(fd) != 0) refuse("write", path, errno);
  if (rename(temporary.c_str(), target.c_str()) != 0) refuse("write", path, errno);
  remove.active = false;
  if (!sync_rename(directory, fd)) refuse("sync the folder of the new file, which is in place,", path, errno);
}

void append_file(const std::string &path, std::string_view text, bool keep) {
  const Descriptor fd(
      open(os::path(path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_APPEND | (keep ? 0 : O_TRUNC), 0666));
  if (fd < 0) refuse("write", path, errno);
  write_all(fd, text, path);
}

}  // namespace dl4::os
