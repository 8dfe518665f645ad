// Files: random-access reads, atomic writes.
#pragma once

#include <functional>

#include "base/os/file.hpp"
#include "base/tensor.hpp"

namespace dl4::io {

// Bytes with random access.
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  // Reads `to` from offset `at`; the range must be within size(). Refuses with IO, and with CORRUPT_FILE if the bytes
  // no longer exist.
  virtual void read(int64_t at, std::span<std::byte> to) const = 0;
  // A reference to those bytes in place, valid while it is held; null if the source can't guarantee that.
  virtual Bytes share(int64_t) const { return nullptr; }
};

class Memory : public Source {
 public:
  explicit Memory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  void read(int64_t at, std::span<std::byte> to) const override;

 private:
  const std::span<const std::byte> bytes_;
};

// The memory of an immutable tensor.
class SharedMemory final : public Memory {
 public:
  explicit SharedMemory(const Tensor &t) : Memory(t.memory()), data_(t.data) {}
  Bytes share(int64_t at) const override { return {data_, data_.get() + at}; }

 private:
  const Bytes data_;
};

// Refuses like os::File, and with OUT_OF_MEMORY past `limit` bytes.
class File final : public Source {
 public:
  File(const std::string &path, int64_t limit);
  int64_t size() const override { return file_.size(); }
  void read(int64_t at, std::span<std::byte> to) const override;

 private:
  const std::string path_;
  const os::File file_;
};

bool begins(const Source &source, std::string_view mark);

using os::write_file;
// Called with the consecutive parts of a file.
using Write = std::function<void(std::span<const std::string_view> parts)>;
// What `save`, called with a Write, writes.
template <class Save>
std::string saved_bytes(Save save) {
  std::string bytes;
  save([&](std::span<const std::string_view> parts) {
    for (std::string_view part : parts) bytes += part;
  });
  return bytes;
}

// Refuses other suffixes. Names without a suffix are accepted: "model", ".model", and "epoch-0.35", since a suffix that
// starts with a digit is a number.
void expect_suffix(const std::string &path, const std::vector<std::string> &known);

}  // namespace dl4::io
