// Texts that are decimal numbers, and those that are not.
#include "base/strings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dl4::DL4_FILE {
namespace {

TEST(Decimal, ReadsANumberAsAWhole) {
  const std::pair<const char *, double> right[] = {
      {"0", 0},          {"-0", -0.0},         {"007", 7},        {"5.", 5},        {".5", 0.5},
      {"-1.25e2", -125}, {"1E-3", 1e-3},       {"1e+2", 100},     {"0.000e999", 0}, {"16777217", 16777217},
      {"0.1", 0.1},      {"1.7e308", 1.7e308}, {"5e-324", 5e-324}};
  for (const auto &[text, expected] : right) {
    double v = 77;
    EXPECT_TRUE(read_decimal(text, v)) << text;
    EXPECT_EQ(v, expected) << text;
    EXPECT_EQ(std::signbit(v), text[0] == '-') << text;
  }
}

TEST(Decimal, RoundsToFloatOnce) {
  float v = 0;
  // Just above the middle of 1 and the float after it. As a double it is that middle, which would go down to 1.
  EXPECT_TRUE(read_decimal("1.000000059604644775390625000000001", v));
  EXPECT_EQ(v, std::nextafter(1.0F, 2.0F));
  EXPECT_TRUE(read_decimal("1e-45", v));
  EXPECT_EQ(v, std::numeric_limits<float>::denorm_min());
  EXPECT_FALSE(read_decimal("1e39", v));
  EXPECT_FALSE(read_decimal("1e-60", v));
}

TEST(Decimal, RefusesOtherTexts) {
  for (const char *text :
       {"",     "-",  ".",   "-.",  "e5",  "1e",   "1e+", "1.2.3",    " 1",    "1 ",     "+1",    "--1",
        "0x10", "1f", "1,5", "inf", "nan", "1e5x", "1_0", "infinity", "1e400", "-1e400", "1e-400"}) {
    double v = 77;
    EXPECT_FALSE(read_decimal(text, v)) << text;
    EXPECT_EQ(v, 77) << text;
  }
}

}  // namespace
}  // namespace dl4::DL4_FILE
