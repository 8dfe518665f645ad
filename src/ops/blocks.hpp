// Copies of rectangles of bytes: concat, slice, pack, padding and plain copies are lists of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.hpp"

namespace dl4::ops {

// `rows` pieces of `bytes` each, from a source of the step to a destination.
struct Block {
  int from = 0, to = 0;  // from -1: zeros
  int64_t rows = 1, bytes = 0;
  int64_t from_offset = 0, from_pitch = 0;  // the pitch leads from row to row
  int64_t to_offset = 0, to_pitch = 0;
};

// The blocks must not overlap. One whose source or destination is absent, or which already lies in its place, is passed
// over.
std::unique_ptr<kernels::Kernel> move_blocks(std::string name, const Site &site, std::vector<Block> blocks);

// The whole of source 0 to the destination, unless they are the same memory.
std::unique_ptr<kernels::Kernel> copy_kernel(const Site &site);

}  // namespace dl4::ops
