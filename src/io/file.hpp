// Files: read by parts, written all or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/file.hpp"
#include "base/tensor.hpp"

namespace dl4::io {

// Bytes to be read by parts.
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  // The bytes from `at` on, as many as `to` holds; they must lie within size(). Refuses with IO, and with CORRUPT_FILE
  // where they are gone by now.
  virtual void read(int64_t at, std::span<std::byte> to) const = 0;
  // Those bytes where they lie, which stay for as long as this is held; null where nobody promised that.
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

// Of a tensor, which does not change.
class SharedMemory final : public Memory {
 public:
  explicit SharedMemory(const Tensor &t) : Memory(t.memory()), data_(t.data) {}
  Bytes share(int64_t at) const override { return {data_, data_.get() + at}; }

 private:
  const Bytes data_;
};

// Refuses as os::File does or, past `limit` bytes, with OUT_OF_MEMORY.
class File final : public Source {
 public:
  File(const std::string &path, int64_t limit);
  int64_t size() const override { return file_.size(); }
  void read(int64_t at, std::span<std::byte> to) const override;

 private:
  const std::string path_;
  const os::File file_;
};

using os::write_file;

// Refuses a path that ends otherwise. Of names without a suffix nothing is expected: "model", ".model", and
// "epoch-0.35", as what begins with a digit is a number.
void expect_suffix(const std::string &path, const std::vector<std::string> &known);

}  // namespace dl4::io
