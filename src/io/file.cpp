// Temporary file beside the target, fsync, rename, fsync of the folder.
#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.hpp"

namespace dl4::io {
namespace {

[[noreturn]] void refuse(const char *what, const std::string &path, int error) {
  char reason[128];
  const char *words = strerror_r(error, reason, sizeof reason);  // the GNU form gives its text back
  throw Error(error == ENOENT && std::string_view(what) == "open" ? Code::not_found : Code::io,
              text("cannot ", what, " \"", path, "\": ", words))
      .with("path", path);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  operator int() const { return fd_; }
  bool finish() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// The file that `path` leads to; `path` itself where there is none yet.
std::string resolved(const std::string &path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

std::string read_file(const std::string &path, int64_t limit) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) refuse("open", path, errno);
  struct stat info {};
  if (fstat(fd, &info) != 0) refuse("read", path, errno);
  if (S_ISDIR(info.st_mode)) refuse("read", path, EISDIR);
  if (info.st_size > limit)
    throw Error(Code::invalid_argument, text('"', path, "\" has ", info.st_size, " bytes, the limit is ", limit))
        .with("path", path);
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  for (;;) {
    // A pipe or a file that grew: what comes past the size it had is taken up to the limit.
    if (done == bytes.size()) {
      char more;
      ssize_t n = read(fd, &more, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) refuse("read", path, errno);
      if (n == 0) return bytes;
      if (static_cast<int64_t>(bytes.size()) >= limit)
        fail(Code::invalid_argument, '"', path, "\" grew past the limit of ", limit, " bytes");
      bytes.push_back(more);
      ++done;
      bytes.resize(std::min(static_cast<size_t>(limit), bytes.size() * 2));
      continue;
    }
    ssize_t n = read(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("read", path, errno);
    if (n == 0) {
      bytes.resize(done);
      return bytes;
    }
    done += static_cast<size_t>(n);
  }
}

void write_file(const std::string &path, std::string_view bytes) {
  static std::atomic<uint64_t> counter{0};
  std::string target = resolved(path);
  size_t slash = target.rfind('/');
  std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  std::string temporary = text(folder, "/.dl4-", getpid(), '-', counter.fetch_add(1), ".tmp");

  struct stat old {};
  bool exists = stat(target.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) refuse("write", path, S_ISDIR(old.st_mode) ? EISDIR : EINVAL);
  if (exists && access(target.c_str(), W_OK) != 0) refuse("write", path, errno);
  Descriptor fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666));
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
    // Only root may give a file away; who may not keeps the file under its own name, as an editor would.
    if ((old.st_uid != geteuid() || old.st_gid != getegid()) && fchown(fd, old.st_uid, old.st_gid) != 0 &&
        errno != EPERM)
      refuse("write", path, errno);
  }
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("write", path, errno);
    done += static_cast<size_t>(n);
  }
  if (fsync(fd) != 0 || !fd.finish()) refuse("write", path, errno);
  if (rename(temporary.c_str(), target.c_str()) != 0) refuse("write", path, errno);
  remove.active = false;
  Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems can't sync a folder; the rename itself has happened.
  if (directory >= 0 && fsync(directory) != 0 && errno != EINVAL && errno != ENOTSUP) refuse("write", path, errno);
}

}  // namespace dl4::io
