// What files have on POSIX alone: modes, pipes, devices.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "harness/folder.hpp"
#include "io/files.hpp"

namespace dl4::io::DL4_FILE {
namespace {

namespace fs = std::filesystem;

using PosixFiles = dl4_test::Folder;

TEST_F(PosixFiles, ModeAndLinkOfTheOldFileStay) {
  write(path("a"), "old");
  chmod(path("a").c_str(), 0640);
  fs::create_symlink("a", path("link"));
  write(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("a"), 100), "new");
  struct stat info {};
  stat(path("a").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(PosixFiles, AFullDiskIsAnError) {
  if (access("/dev/full", W_OK) == 0) {
    EXPECT_THROW(write("/dev/full", "x"), Error);
  }
  EXPECT_EQ(count(), 0u);
}

// Nothing is waited for: neither a writer nor a byte.
TEST_F(PosixFiles, OnlyARegularFileIsRead) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string &name : {path("pipe"), std::string("/dev/null"), std::string("/dev/zero")}) {
    try {
      read_file(name, 1 << 20);
      ADD_FAILURE() << name;
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::io);
      EXPECT_NE(error.message.find("expected a regular file"), std::string::npos) << error.message;
    }
  }
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
