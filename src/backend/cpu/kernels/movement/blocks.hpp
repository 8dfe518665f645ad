// Rectangles of bytes moved from one buffer to another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dl4::kernels {

// `rows` pieces of `bytes` each, from a source of the step to a destination.
struct Block {
  int from = 0, to = 0;  // from -1: zeros
  int64_t rows = 1, bytes = 0;
  int64_t from_offset = 0, from_pitch = 0;  // pitch: distance from row to row
  int64_t to_offset = 0, to_pitch = 0;
};

// Bytes [begin, end) of the block, counted through its rows. from, to: the buffers; from == nullptr: zeros.
void move(const Block &b, int64_t begin, int64_t end, const std::byte *from, std::byte *to) noexcept;

}  // namespace dl4::kernels
