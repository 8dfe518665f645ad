// Offsets on lives small enough to draw, and that no two living buffers share a byte on random ones.
#include "plan/memory.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dl4::plan::DL4_FILE {
namespace {

TEST(Memory, LivesThatDoNotMeetShareTheirBytes) {
  std::vector<Life> lives{{100, 0, 1}, {100, 2, 3}, {100, 1, 2}};
  EXPECT_EQ(place(lives), 256);
  EXPECT_EQ(lives[0].offset, 0);
  EXPECT_EQ(lives[1].offset, 0);
  EXPECT_EQ(lives[2].offset, 128);
}

TEST(Memory, TheSmallestGapIsTaken) {
  // Two gaps are left at step 1, of 128 and of 64 bytes; the small buffer takes the second.
  std::vector<Life> lives{{640, 0, 0}, {192, 1, 1}, {128, 0, 2}, {64, 1, 1}};
  EXPECT_EQ(place(lives), 768);
  for (const Life &l : lives) EXPECT_EQ(l.offset % 64, 0);
}

TEST(Memory, NoTwoLivingBuffersOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Life> lives(round == 0 ? most_lives_by_size + 100 : 1 + random() % 40);
    for (Life &l : lives) {
      l.bytes = 1 + random() % 5000;
      l.first = static_cast<int32_t>(random() % (lives.size() / 2 + 30));
      l.last = l.first + static_cast<int32_t>(random() % 10);
    }
    int64_t total = place(lives), sum = 0;
    for (size_t i = 0; i < lives.size(); ++i) {
      sum += (lives[i].bytes + 63) / 64 * 64;
      ASSERT_LE(lives[i].offset + lives[i].bytes, total);
      for (size_t j = 0; j < i; ++j) {
        bool meet = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        bool share =
            lives[i].offset < lives[j].offset + lives[j].bytes && lives[j].offset < lives[i].offset + lives[i].bytes;
        ASSERT_FALSE(meet && share) << "round " << round << ", buffers " << i << " and " << j;
      }
    }
    EXPECT_LE(total, round == 0 ? sum / 100 : sum);
  }
}

}  // namespace
}  // namespace dl4::plan::DL4_FILE
