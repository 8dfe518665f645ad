// Files. Paths are UTF-8 on every system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace dl4::os {

// A path as the system has it, and back. Refuses one with a NUL, which the system would read to there alone, and one
// that the system can't have: on Windows what is no UTF-8.
std::filesystem::path path(const std::string &utf8);
std::string utf8(const std::filesystem::path &path);

// An open file. Only a regular one is opened: nothing here waits for another process.
class File {
 public:
  explicit File(const std::string &path);  // refuses with NOT_FOUND or IO (naming path and reason)
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  int64_t size() const { return size_; }
  // The bytes from `at` on; fewer than `to` holds only where the file ends. Refuses with IO.
  size_t read(int64_t at, std::span<std::byte> to) const;

 private:
  const std::string path_;
  intptr_t handle_;
  int64_t size_ = 0;
};

// When this returns, the parts are on the disk, one behind the other, under `path`; at any instant before, the old file
// is there whole. A symbolic link is followed, and mode and owner of the old file are kept. A failure leaves the old
// file and no other, unless it says that the new one is in place: then it is not known to be on the disk.
void write_file(const std::string &path, std::span<const std::string_view> parts);

// Appends the text to a file, which is created if it does not exist. Without `keep` the file is emptied first. Refuses
// with IO.
void append_file(const std::string &path, std::string_view text, bool keep);

}  // namespace dl4::os
