// Our own products of any two matrices against sums in double.
#include "gemm_cases.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

void check_all(const Gemm &g, std::mt19937 &random, bool nan = false) {
  if (g.k == 0) return;
  Case c(g, random, nan);
  const double tolerance = g.k < 200 ? 1e-5 : 1e-4;  // a sum of many numbers of either sign is small beside these
  for (int64_t slices : {1, 2, 3, 7}) c.check(blocked_gemm(g, slices).get(), text(g, slices), tolerance);
}
void check_each(const Gemm &g, std::mt19937 &random) { check_all(g, random); }

TEST(BlockedGemm, OddSizes) {
  on_every_target([] { check_odd_sizes(check_each); });
}
TEST(BlockedGemm, LeadingDimensions) {
  on_every_target([] { check_leading_dimensions(check_each); });
}
TEST(BlockedGemm, Batches) {
  on_every_target([] { check_batches(check_each); });
}

// More than one block of each.
TEST(BlockedGemm, LargeSizes) {
  std::mt19937 random(11);
  for (int variant = 0; variant < 4; ++variant) {
    Gemm g{.m = 70, .n = 150, .k = 2100, .trans_a = bool(variant & 1), .trans_b = bool(variant & 2), .bias = true};
    check_all(g, random);
    g.epilogue.run = doubled_plus_one;
    check_all(g, random);
  }
  // Rows that begin at one place of a page each.
  check_all({.m = 70, .n = 40, .k = 1000, .lda = 1024}, random);
}

TEST(BlockedGemm, NanPassesThrough) {
  std::mt19937 random(6);
  check_all({.m = 40, .n = 130, .k = 33, .bias = true}, random, true);
}

TEST(BlockedGemm, NothingToWriteIsNoSlice) {
  Gemm no_item{.batch = 0, .m = 3, .n = 3, .k = 4};
  for (const Gemm &g : {Gemm{.m = 0, .n = 3, .k = 4}, Gemm{.m = 3, .n = 0, .k = 4}, no_item})
    EXPECT_EQ(blocked_gemm(g, 3)->slices, 0);
  EXPECT_EQ(blocked_gemm({.m = 3, .n = 3, .k = 0}, 3), nullptr);
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
