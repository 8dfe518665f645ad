// Memory of tensors: aligned, and asked for as the C library wants it (a sanitizer's says so).
#include "base/tensor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "harness/sanitized.hpp"

namespace DL4_FILE {
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

TEST(Allocate, LargeResultsUseAgainWhatWasReleased) {
  if (dl4_test::sanitized) GTEST_SKIP() << "a sanitizer is to see what is released";
  constexpr int64_t large = 5 << 20;
  release_idle();
  const void *first = allocate(large).get();
  EXPECT_EQ(allocate(large).get(), first);
  EXPECT_EQ(allocate(large - 1000).get(), first);
  const Bytes held = allocate(large);
  EXPECT_EQ(held.get(), first);
  EXPECT_NE(allocate(large).get(), first);
  EXPECT_NE(allocate(large, true).get(), first);
}

// Each block has one owner at a time.
TEST(Allocate, ThreadsShareIdleBlocks) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const int64_t bytes = (1 + (i + t) % 3) << 20;
        const Bytes a = allocate(bytes), b = allocate(bytes);
        const auto mark = std::byte(16 * t + i % 16);
        a.get()[bytes - 1] = a.get()[0] = mark;
        b.get()[bytes - 1] = b.get()[0] = std::byte(255);
        std::this_thread::yield();
        wrong += a.get()[0] != mark || a.get()[bytes - 1] != mark;
        if (i % 50 == t) release_idle();
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace DL4_FILE
