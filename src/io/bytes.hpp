// Reads and writes numbers and names as bytes of untrusted files.
#pragma once

#include <algorithm>
#include <bit>

#include "io/file.hpp"

namespace dl4::io {

// A bounds-checked reader: refuses with CORRUPT_FILE, naming the structure.
class Cursor {
 public:
  Cursor(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  size_t left() const { return bytes_.size() - at_; }
  // Little-endian, of 1 to 8 bytes.
  uint64_t number(size_t size) {
    const std::string_view s = take(size);
    uint64_t n = 0;
    for (size_t i = size; i-- > 0;) n = n << 8 | static_cast<unsigned char>(s[i]);
    return n;
  }
  int64_t small(size_t size) { return static_cast<int64_t>(number(size)); }  // up to 4 bytes
  size_t count(size_t size) { return static_cast<size_t>(number(size)); }    // number of bytes to take
  std::string_view take(size_t size) {
    if (size > left()) fail(Code::corrupt_file, what_, " ends after ", bytes_.size(), " bytes");
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  // Requires this name here.
  void expect(std::string_view name) {
    if (take(name.size()) != name) fail(Code::corrupt_file, what_, " does not begin with \"", name, '"');
  }
  // Skips to a multiple of `to` from the start, or to the end.
  void align(size_t to) { take(std::min((to - at_ % to) % to, left())); }

 private:
  std::string_view bytes_;
  std::string what_;
  size_t at_ = 0;
};

// Little-endian, in so many bytes.
struct Number {
  uint64_t n;
  size_t size;
};
inline void put(std::string &to, std::initializer_list<Number> numbers) {
  for (const auto &[n, size] : numbers)
    for (size_t i = 0; i < size; ++i) to += static_cast<char>(n >> (8 * i) & 255);
}

// The number of `size` bytes at p; turned: big-endian.
inline uint64_t number_at(const std::byte *p, int64_t size, bool turned) {
  uint64_t n = 0;
  for (int64_t i = 0; i < size; ++i) n |= static_cast<uint64_t>(p[turned ? size - 1 - i : i]) << (8 * i);
  return n;
}

// IEEE half precision.
inline float from_half(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h >> 15) << 31, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 0) {
    const float tiny = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13);
}

// A part of another source, which must outlive it.
class Part final : public Source {
 public:
  Part(const Source &whole, int64_t at, int64_t size) : whole_(whole), at_(at), size_(size) {}
  int64_t size() const override { return size_; }
  void read(int64_t at, std::span<std::byte> to) const override { whole_.read(at_ + at, to); }

 private:
  const Source &whole_;
  const int64_t at_, size_;
};

// Converts errors of these codes, raised by an architecture in a file, to CORRUPT_FILE: the file is at fault, not the
// caller.
template <class F>
auto as_file_error(F f, std::initializer_list<Code> codes = {Code::invalid_argument, Code::shape_mismatch}) {
  try {
    return f();
  } catch (Error &error) {
    if (std::find(codes.begin(), codes.end(), error.code) != codes.end()) error.code = Code::corrupt_file;
    throw;
  }
}

}  // namespace dl4::io
