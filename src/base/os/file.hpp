// Files. Paths are UTF-8 on every system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace dl4::os {

// Converts a path to the system's encoding and back. Refuses a path with a NUL, at which the system would cut it, and
// one that the system can't represent (on Windows: invalid UTF-8).
std::filesystem::path path(const std::string &utf8);
std::string utf8(const std::filesystem::path &path);

// An open regular file. Others are refused, so no call waits for another process.
class File {
 public:
  explicit File(const std::string &path);  // refuses with NOT_FOUND or IO, naming path and reason
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  int64_t size() const { return size_; }
  // Reads from offset `at`; returns less than `to` holds only at the end of the file. Refuses with IO.
  size_t read(int64_t at, std::span<std::byte> to) const;

 private:
  const std::string path_;
  intptr_t handle_;
  int64_t size_ = 0;
};

// Replaces the file at `path` with the parts, concatenated, atomically: at any instant the whole old or the whole new
// file is there, and on return the new one is on the disk. Follows symbolic links; keeps mode and owner of the old
// file. A failure leaves the old file and no temporary, unless the error says that the new file is in place but perhaps
// not yet on the disk.
void write_file(const std::string &path, std::span<const std::string_view> parts);

// Appends the text, creating the file if necessary. Without `keep` the file is truncated first. Refuses with IO.
void append_file(const std::string &path, std::string_view text, bool keep);

}  // namespace dl4::os
