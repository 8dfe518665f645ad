// Where buffers with known lives lie in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dl4::plan {

// A buffer that is in use from step `first` to step `last`, both included.
struct Life {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;
  int64_t offset = -1;  // the answer
};

// Placing a buffer looks at all that are placed already: beyond this many they are placed in the order of their first
// steps, each in the smallest gap at that moment.
constexpr size_t most_lives_by_size = 10000;

// Gives every buffer an offset, a multiple of 64, so that buffers whose lives overlap never share a byte: the largest
// first, each in the smallest gap it fits. Returns the bytes of the arena.
int64_t place(std::vector<Life> &lives);

}  // namespace dl4::plan
