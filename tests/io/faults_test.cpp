// What the system refuses: the calls of src/io/file.cpp go through these, which fail when told to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "harness/folder.hpp"
#include "io/file.hpp"

namespace {

// How often a call is to fail, and of what.
struct Fault {
  int times = 0, error = 0;
  bool due() {
    if (times <= 0) return false;
    --times;
    errno = error;
    return true;
  }
};
Fault open_folder, create_file, sync_folder, sync_system, real_path, look;

bool is_folder(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

extern "C" {

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = flags & O_CREAT ? va_arg(more, int) : 0;
  va_end(more);
  if (flags & O_DIRECTORY && open_folder.due()) return -1;
  if (flags & O_EXCL && create_file.due()) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int fsync(int fd) {
  if (is_folder(fd) && sync_folder.due()) return -1;
  return static_cast<int>(syscall(SYS_fsync, fd));
}

int syncfs(int fd) noexcept {
  if (sync_system.due()) return -1;
  return static_cast<int>(syscall(SYS_syncfs, fd));
}

int stat(const char *path, struct stat *info) noexcept {
  if (look.due()) return -1;
  return fstatat(AT_FDCWD, path, info, 0);
}

char *realpath(const char *path, char *resolved) noexcept {
  if (resolved) abort();
  if (real_path.due()) return nullptr;
  return canonicalize_file_name(path);
}

}  // extern "C"

namespace dl4::io::DL4_FILE {
namespace {

namespace fs = std::filesystem;

class Faults : public dl4_test::Folder {
 protected:
  ~Faults() override { open_folder = create_file = sync_folder = sync_system = real_path = look = {}; }

  // The message of a refused write.
  std::string refused(const std::string &name) {
    try {
      write_file(path(name), std::array<std::string_view, 1>{"new"});
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::io);
      EXPECT_NE(error.message.find(path(name)), std::string::npos) << error.message;
      return error.message;
    }
    ADD_FAILURE();
    return {};
  }
};

TEST_F(Faults, ATemporaryFileThatIsLeftOverIsPassedBy) {
  create_file = {3, EEXIST};
  write_file(path("a"), std::array<std::string_view, 1>{"new"});
  EXPECT_EQ(get("a"), "new");
  EXPECT_EQ(create_file.times, 0);
  create_file = {1'000'000, EEXIST};
  refused("a");
  EXPECT_EQ(create_file.times, 1'000'000 - 100);
  EXPECT_EQ(count(), 1u);
}

TEST_F(Faults, AFolderThatCannotBeOpenedIsRefusedBeforeAnythingIsDone) {
  put("a", "old");
  for (int error : {EMFILE, ENOMEM}) {
    open_folder = {1, error};
    refused("a");
    EXPECT_EQ(get("a"), "old");
    EXPECT_EQ(count(), 1u);
  }
}

TEST_F(Faults, AFolderThatCannotBeSyncedAloneIsSyncedWithItsFileSystem) {
  open_folder = {1, EACCES};
  sync_system = {1, EIO};
  EXPECT_NE(refused("a").find("the new file, which is in place"), std::string::npos);
  EXPECT_EQ(get("a"), "new");
  fs::remove(path("a"));
  open_folder = {1, EACCES};
  write_file(path("a"), std::array<std::string_view, 1>{"new"});
  for (int error : {EINVAL, ENOTSUP}) {
    sync_folder = {1, error};
    write_file(path("a"), std::array<std::string_view, 1>{"newer"});
    sync_folder = {1, error};
    sync_system = {1, EIO};
    refused("a");
    EXPECT_EQ(sync_system.times, 0);
  }
}

TEST_F(Faults, AFailedSyncOfTheFolderSaysThatTheNewFileIsInPlace) {
  put("a", "old");
  sync_folder = {1, EIO};
  EXPECT_NE(refused("a").find("the new file, which is in place"), std::string::npos);
  EXPECT_EQ(get("a"), "new");
  EXPECT_EQ(count(), 1u);
}

TEST_F(Faults, ALinkIsNeverReplaced) {
  put("a", "old");
  fs::create_symlink("a", path("link"));
  for (int error : {EIO, ENOMEM, EACCES, ELOOP}) {
    real_path = {1, error};
    refused("link");
  }
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(get("a"), "old");
  EXPECT_EQ(count(), 2u);
}

TEST_F(Faults, ADanglingLinkIsFollowed) {
  fs::create_directory(path("d"));
  fs::create_symlink("d/next", path("link"));
  fs::create_symlink(path("there"), path("d/next"));
  write_file(path("link"), std::array<std::string_view, 1>{"new"});
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("d/next")));
  EXPECT_EQ(get("there"), "new");
  EXPECT_EQ(count(), 3u);
  fs::create_symlink("circle", path("circle"));
  refused("circle");
  EXPECT_TRUE(fs::is_symlink(path("circle")));
  fs::create_symlink("no/such/folder", path("nowhere"));
  refused("nowhere");
  EXPECT_TRUE(fs::is_symlink(path("nowhere")));
}

TEST_F(Faults, ModeAndOwnerThatCannotBeLookedUpAreNotLost) {
  put("a", "old");
  for (int error : {EIO, ENOMEM, EACCES}) {
    look = {1, error};
    refused("a");
    EXPECT_EQ(get("a"), "old");
  }
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
