// Copies of rectangles of bytes.
#include "backend/cpu/kernels/movement/blocks.hpp"

#include <algorithm>
#include <cstring>

namespace dl4::kernels {

void move(const Block &b, int64_t begin, int64_t end, const std::byte *from, std::byte *to) noexcept {
  to += b.to_offset;
  if (from) from += b.from_offset;
  if (from == to && (b.rows == 1 || b.from_pitch == b.to_pitch)) return;
  for (int64_t at = begin; at < end;) {
    int64_t row = at / b.bytes, column = at % b.bytes, n = std::min(b.bytes - column, end - at);
    std::byte *y = to + row * b.to_pitch + column;
    if (from)
      std::memcpy(y, from + row * b.from_pitch + column, static_cast<size_t>(n));
    else
      std::memset(y, 0, static_cast<size_t>(n));
    at += n;
  }
}

}  // namespace dl4::kernels
