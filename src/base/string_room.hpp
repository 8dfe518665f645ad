// The bytes of the strings that a step makes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bound.hpp"
#include "base/memory.hpp"
#include "base/tensor.hpp"

namespace dl4 {

// Of a step in a frame. Its strings live as long as `made`, which whoever runs the frame takes.
struct StringRoom : Bound {
  int64_t *left = nullptr;  // bytes that the run may still take; null: it makes no strings here
  int64_t refused = 0;      // bytes that were more
  Bytes made;

  // Room for so many bytes; null: there is none.
  char *take(int64_t bytes) {
    if (!left || bytes > *left) {
      refused = left ? bytes : 0;
      return nullptr;
    }
    made = allocate(bytes);
    *left -= bytes;
    return reinterpret_cast<char *>(made.get());
  }
};

// What keeps the strings that a run made.
struct MadeStrings {
  std::vector<Bytes> blocks;
  int64_t bytes = 0;

  void take(MadeStrings more) {
    bytes += more.bytes;  // bounded: by the memory limit
    for (Bytes &b : more.blocks) blocks.push_back(std::move(b));
  }
};

}  // namespace dl4
