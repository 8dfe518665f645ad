// What files have on Windows alone: wide names, forbidden ones, attributes, files that another has open.
#include <gtest/gtest.h>
#include <windows.h>

#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "base/os/file.hpp"
#include "harness/folder.hpp"

namespace dl4::os::DL4_FILE {
namespace {

namespace fs = std::filesystem;

struct WindowsFiles : dl4_test::Folder {
  std::string in(const std::string &name) const { return path("") + name; }  // of any bytes
};

void write(const std::string &path, std::string_view bytes) { write_file(path, std::array{bytes}); }

std::string read_file(const std::string &path) {
  const File file(path);
  std::string bytes(static_cast<size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void expect_refused(const std::string &path, const std::string &reason) {
  for (const bool writes : {false, true}) try {
      writes ? write(path, "x") : static_cast<void>(read_file(path));
      ADD_FAILURE() << path;
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::io) << path;
      EXPECT_NE(error.message.find(reason), std::string::npos) << error.message;
    }
}

// In the characters of no code page.
TEST_F(WindowsFiles, NamesAreUtf8) {
  const std::string name = "\xc3\xbc\xe2\x82\xac\xe6\x97\xa5\xf0\x9f\xa6\x86.bin";
  write(in(name), "first");
  write(in(name), "second");
  EXPECT_EQ(read_file(in(name)), "second");
  EXPECT_TRUE(fs::exists(folder_ / L"\u00fc\u20ac\u65e5\U0001f986.bin"));
  EXPECT_EQ(count(), 1u);
}

TEST_F(WindowsFiles, ANameThatIsNoUtf8IsRefused) {
  for (const char *bytes : {"\xff", "\xc3", "\xed\xa0\x80", "\xc0\xaf"})
    expect_refused(in(std::string("a") + bytes + "z"), "expected its path in UTF-8");
  EXPECT_EQ(count(), 0u);
}

TEST_F(WindowsFiles, ANameThatWindowsForbidsIsRefused) {
  for (const char *name : {"a<b", "a>b", "a\"b", "a|b", "a?b", "a*b", "a:b", "a\nb"})
    expect_refused(in(name), "which Windows forbids");
  for (const char *name : {"a.", "a ", "a../b"}) expect_refused(in(name), "whose last character Windows leaves out");
  for (const char *name : {"NUL", "con", "COM1", "lpt9", "Aux.txt", "nul.safetensors", "nul/a"})
    expect_refused(in(name), "which Windows keeps for a device");
  EXPECT_EQ(count(), 0u);
}

TEST_F(WindowsFiles, AttributesOfTheOldFileStay) {
  write(path("a"), "old");
  ASSERT_TRUE(SetFileAttributesW(fs::path(path("a")).c_str(), FILE_ATTRIBUTE_HIDDEN));
  write(path("a"), "new");
  EXPECT_TRUE(GetFileAttributesW(fs::path(path("a")).c_str()) & FILE_ATTRIBUTE_HIDDEN);
  EXPECT_EQ(read_file(path("a")), "new");
}

TEST_F(WindowsFiles, AReadOnlyFileStays) {
  write(path("a"), "old");
  ASSERT_TRUE(SetFileAttributesW(fs::path(path("a")).c_str(), FILE_ATTRIBUTE_READONLY));
  EXPECT_THROW(write(path("a"), "new"), Error);
  EXPECT_EQ(read_file(path("a")), "old");
  SetFileAttributesW(fs::path(path("a")).c_str(), FILE_ATTRIBUTE_NORMAL);
  EXPECT_EQ(count(), 1u);
}

// Nothing is left of the refused save.
TEST_F(WindowsFiles, AFileThatAnotherHoldsStays) {
  write(path("a"), "old");
  for (const DWORD shared : {0, FILE_SHARE_READ, FILE_SHARE_READ | FILE_SHARE_WRITE}) {
    const HANDLE held =
        CreateFileW(fs::path(path("a")).c_str(), GENERIC_READ, shared, nullptr, OPEN_EXISTING, 0, nullptr);
    ASSERT_NE(held, INVALID_HANDLE_VALUE);
    EXPECT_THROW(write(path("a"), "new"), Error) << shared;
    CloseHandle(held);
    EXPECT_EQ(read_file(path("a")), "old");
    EXPECT_EQ(count(), 1u);
  }
  write(path("a"), "new");
  EXPECT_EQ(read_file(path("a")), "new");
}

// A reader keeps what it has opened.
TEST_F(WindowsFiles, AFileThatIsReadMayBeReplaced) {
  write(path("a"), "old");
  {
    const File reader(path("a"));
    write(path("a"), "new");
    std::string had(3, ' ');
    reader.read(0, std::as_writable_bytes(std::span(had)));
    EXPECT_EQ(had, "old");
  }
  EXPECT_EQ(read_file(path("a")), "new");
  EXPECT_EQ(count(), 1u);
}

}  // namespace
}  // namespace dl4::os::DL4_FILE
