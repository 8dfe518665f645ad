// Elementary functions against those of the C library in extended precision, and their bits.
#include "base/math.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace DL4_FILE {
namespace {

namespace math = dl4::math;
constexpr double inf = std::numeric_limits<double>::infinity();

struct Function {
  const char *name;
  double (*f)(double) noexcept;
  long double (*exact)(long double);
  double from, to;
};

const Function functions[] = {
    {"exp", math::exp, std::exp, -740, 709},       {"expm1", math::expm1, std::expm1, -40, 40},
    {"log", math::log, std::log, 1e-6, 1e6},       {"log1p", math::log1p, std::log1p, -0.999, 100},
    {"log10", math::log10, std::log10, 1e-6, 1e6}, {"cbrt", math::cbrt, std::cbrt, -1e6, 1e6},
    {"sin", math::sin, std::sin, -100, 100},       {"cos", math::cos, std::cos, -100, 100},
    {"tan", math::tan, std::tan, -100, 100},       {"asin", math::asin, std::asin, -1, 1},
    {"acos", math::acos, std::acos, -1, 1},        {"atan", math::atan, std::atan, -50, 50},
    {"sinh", math::sinh, std::sinh, -700, 700},    {"cosh", math::cosh, std::cosh, -700, 700},
    {"asinh", math::asinh, std::asinh, -1e3, 1e3}, {"acosh", math::acosh, std::acosh, 1, 1e3},
    {"atanh", math::atanh, std::atanh, -1, 1},     {"erfc", math::erfc, std::erfc, -5, 26},
};

// Evenly spaced by a step that is no number of theirs, and small ones of both signs.
std::vector<double> arguments(const Function &f) {
  std::vector<double> all;
  for (int i = 0; i < 20'000; ++i) all.push_back(f.from + (f.to - f.from) * (i + 0.37) / 20'000);
  for (double small = 0.5; small > 1e-30; small *= 0.37)
    for (double x : {small, -small})
      if (x > f.from && x < f.to) all.push_back(x);
  return all;
}

TEST(Math, ErrorsAreOfAFewUnitsInTheLastPlace) {
  for (const Function &f : functions)
    for (const double x : arguments(f)) {
      const long double wanted = f.exact(static_cast<long double>(x));
      const double got = f.f(x);
      // Near a zero of sin and cos the argument's own rounding counts.
      const long double error = std::fabs(static_cast<long double>(got) - wanted);
      ASSERT_LE(error, std::fabs(wanted) * 1.2e-15L + 1e-300L) << f.name << '(' << x << ") = " << got;
    }
}

TEST(Math, AnglesAreReducedExactlyHoweverLarge) {
  for (double x = 1e5; x < 1e300; x *= 1.7) {
    // Both functions of one angle, by the addition theorem of half of it, whose reduction is another one.
    const double s = math::sin(x), c = math::cos(x), half = x / 2;
    EXPECT_NEAR(s * s + c * c, 1, 1e-15) << x;
    EXPECT_NEAR(s, 2 * math::sin(half) * math::cos(half), 1e-15) << x;
    EXPECT_NEAR(c, 1 - 2 * math::sin(half) * math::sin(half), 1e-15) << x;
    if (x < 1e18) {
      EXPECT_NEAR(s, static_cast<double>(std::sin(static_cast<long double>(x))), 1e-15) << x;
    }
    EXPECT_EQ(math::sin(-x), -s);
    EXPECT_EQ(math::cos(-x), c);
  }
}

TEST(Math, PowersAndAnglesOfTwoArguments) {
  for (const double x : {1e-3, 0.3, 0.999, 1.5, 7.0, 1e4})
    for (const double y : {-20.0, -3.0, -0.5, 0.25, 1.0, 2.0, 3.0, 17.3})
      EXPECT_NEAR(math::pow(x, y) / std::pow(x, y), 1, 1e-13) << x << ' ' << y;
  EXPECT_EQ(math::pow(3.0f, 2.0f), 9.0f);
  for (const double y : {-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, -3.0, inf, -inf})
    for (const double x : {-inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, inf}) {
      const double wanted = std::pow(x, y), got = math::pow(x, y);
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(got)
                                     : std::fabs(got - wanted) <= 1e-15 * std::fabs(wanted) || got == wanted)
          << x << ' ' << y << ": " << got << ", expected " << wanted;
      EXPECT_EQ(std::signbit(wanted) && !std::isnan(wanted), std::signbit(got) && !std::isnan(got)) << x << ' ' << y;
      const double angle = math::atan2(y, x);
      EXPECT_NEAR(angle, std::atan2(y, x), 1e-15) << y << ' ' << x;
      EXPECT_EQ(std::signbit(angle), std::signbit(std::atan2(y, x))) << y << ' ' << x;
    }
  EXPECT_TRUE(std::isnan(math::pow(double{NAN}, 1.0)));
  EXPECT_EQ(math::pow(double{NAN}, 0.0), 1);
}

TEST(Math, EdgesAreThoseOfC) {
  for (const Function &f : functions)
    for (const double x : {0.0, -0.0, 1.0, -1.0, inf, -inf, std::nan(""), 2.0, -2.0, 1e308, -1e308, 5e-324}) {
      const double wanted = static_cast<double>(f.exact(static_cast<long double>(x))), got = f.f(x);
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << f.name << '(' << x << ") = " << got;
      } else if (std::isinf(wanted) || wanted == 0) {
        EXPECT_EQ(got, wanted) << f.name << '(' << x << ')';
        EXPECT_EQ(std::signbit(got), std::signbit(wanted)) << f.name << '(' << x << ')';
      } else {
        EXPECT_NEAR(got, wanted, 2e-15 * std::fabs(wanted)) << f.name << '(' << x << ')';
      }
    }
}

// The same number with every compiler, C library and processor.
TEST(Math, BitsAreTheSameEverywhere) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const Function &f : functions)
    for (const double x : arguments(f)) sum = (sum ^ std::bit_cast<uint64_t>(f.f(x))) * 0x100000001b3;
  for (double x = 1e5; x < 1e300; x *= 1.7) sum = (sum ^ std::bit_cast<uint64_t>(math::sin(x))) * 0x100000001b3;
  EXPECT_EQ(sum, 0xa13f509bc3f4f89du);
}

}  // namespace
}  // namespace DL4_FILE
