// Placement of buffers with known lifetimes in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dl4::plan {

// A buffer in use from step `first` to step `last`, inclusive.
struct Life {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;
  int64_t offset = -1;  // result
};

// Placing a buffer by size compares it with all placed ones. Beyond this many, buffers are placed in order of their
// first steps, each in the smallest gap free at that step.
constexpr size_t most_lives_by_size = 10000;

// Assigns offsets, multiples of 64, such that buffers with overlapping lifetimes share no byte: largest first, each in
// the smallest gap that fits. Returns the bytes of the arena.
int64_t place(std::vector<Life> &lives);

}  // namespace dl4::plan
