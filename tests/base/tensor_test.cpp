// Memory of tensors: aligned, and asked for as the C library wants it (a sanitizer's says so).
#include "base/tensor.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using namespace dl4;

TEST(Allocate, AlignsToCacheLinesAndLargeOnesToPages) {
  constexpr int64_t large = 1 << 21;
  for (bool working : {false, true})
    for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{65}, large / 4 - 1, large / 4, large / 2 - 1, large / 2,
                          large - 1, large, large + 1, large + large / 4, 2 * large + 64}) {
      const Bytes memory = allocate(bytes, working);
      ASSERT_NE(memory.get(), nullptr) << bytes;
      const int64_t alignment = bytes < (working ? large / 4 : large / 2) ? 64 : large;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % static_cast<uintptr_t>(alignment), 0u) << bytes;
      if (bytes) memory.get()[0] = memory.get()[bytes - 1] = std::byte{1};
    }
}

}  // namespace
