// Products and sums that would overflow are refused, wherever in a list they do.
#include "base/checked.hpp"

#include <gtest/gtest.h>

namespace dl4::DL4_FILE {
namespace {

TEST(Checked, ProductsAndSums) {
  EXPECT_EQ(checked_mul(3, 5), 15);
  EXPECT_EQ(checked_mul(2, 3, 5, 7), 210);
  EXPECT_EQ(checked_add(-1, INT64_MAX, -3), INT64_MAX - 4);
  EXPECT_EQ(round_up(17, 16), 32);
  EXPECT_EQ(round_up(0, 16), 0);
  constexpr int64_t large = int64_t{1} << 32;
  EXPECT_THROW(checked_mul(large, large), Error);
  EXPECT_THROW(checked_mul(2, large, large, 0), Error);
  EXPECT_THROW(checked_mul(large, large / 2, 4), Error);
  EXPECT_THROW(checked_add(1, 2, INT64_MAX), Error);
  EXPECT_THROW(round_up(INT64_MAX - 3, 16), Error);
  try {
    checked_mul(large, large);
  } catch (const Error &e) {
    EXPECT_EQ(std::string(e.what()), "size overflows 64 bits: 4294967296 * 4294967296");
  }
}

}  // namespace
}  // namespace dl4::DL4_FILE
