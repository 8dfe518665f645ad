// Random fills: TensorFlow's layouts, the same bits however they are cut, and the right distributions.
#include "backend/cpu/kernels/elementwise/random.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "backend/cpu/kernels/reduce/reduce.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

const Stream stream{42, 478163327};

float unit(int64_t i) {
  const uint32_t w = philox(stream, static_cast<uint64_t>(i / 4))[static_cast<size_t>(i % 4)];
  return static_cast<float>(w & 0x7fffff) / 8388608.0f;
}

TEST(Random, UniformIsTheMantissaTrick) {
  on_every_target([] {
    Edge<float> y(200);
    fill_uniform(stream, 0, -0.5f, 0.75f, y, 200);
    for (int64_t i = 0; i < 200; ++i) ASSERT_EQ(unit(i) * 1.25f - 0.5f, y[i]);
  });
}

TEST(Random, BlockNumbersPast32Bits) {
  const Stream wide{0x123456789abcdef0, 0xfedcba9876543210};
  const int64_t block = (int64_t{1} << 33) + 0xfffffff9;
  on_every_target([&] {
    Edge<float> y(64);
    fill_uniform(wide, block * 4, 0, 1, y, 64);
    for (int64_t i = 0; i < 64; ++i) {
      const uint32_t w = philox(wide, static_cast<uint64_t>(block + i / 4))[static_cast<size_t>(i % 4)];
      ASSERT_EQ(static_cast<float>(w & 0x7fffff) / 8388608.0f, y[i]);
    }
  });
}

TEST(Random, NormalIsBoxMullerOnNeighbours) {
  on_every_target([] {
    Edge<float> y(200);
    fill_normal(stream, 0, 1, 2, y, 200);
    for (int64_t i = 0; i < 200; i += 2) {
      const double r = std::sqrt(-2 * std::log(std::max(static_cast<double>(unit(i)), 1e-7)));
      const double angle = 2 * std::numbers::pi * static_cast<double>(unit(i + 1));
      ASSERT_TRUE(near(2 * r * std::sin(angle) + 1, static_cast<double>(y[i]), 1e-5, 4e-6));
      ASSERT_TRUE(near(2 * r * std::cos(angle) + 1, static_cast<double>(y[i + 1]), 1e-5, 4e-6));
    }
  });
}

template <class Fill>
void check_cuts(const Fill &fill) {
  std::vector<float> whole(500);
  fill(0, whole.data(), 500);
  for (int64_t first = 0; first < 140; ++first)
    for (int64_t n : {0, 1, 2, 3, 5, 64, 130}) {
      Edge<float> part(n);
      fill(first, part, n);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(whole[static_cast<size_t>(first + i)], part[i]) << first << " " << n;
    }
}

TEST(Random, TheSameBitsHoweverCut) {
  on_every_target([] {
    check_cuts([](int64_t first, float *y, int64_t n) { fill_uniform(stream, first, 0, 1, y, n); });
    check_cuts([](int64_t first, float *y, int64_t n) { fill_normal(stream, first, 0, 1, y, n); });
    check_cuts([](int64_t first, float *y, int64_t n) { keep_mask(stream, first, 0.3f, y, n); });
  });
  check_cuts([](int64_t first, float *y, int64_t n) { fill_truncated_normal(stream, first, 0, 1, y, n); });
}

TEST(Random, Distributions) {
  const int64_t n = 1 << 18;
  std::vector<float> y(static_cast<size_t>(n));
  auto check = [&](double mean, double variance) {
    const double m = std::accumulate(y.begin(), y.end(), 0.0) / n;
    EXPECT_NEAR(mean, m, 0.01);
    EXPECT_NEAR(variance, sum_squares(y.data(), n) / n - m * m, 0.01);
  };
  fill_uniform(stream, 0, 0, 1, y.data(), n);
  check(0.5, 1.0 / 12);
  fill_normal(stream, 0, 0, 1, y.data(), n);
  check(0, 1);
  fill_truncated_normal(stream, 0, 0, 1, y.data(), n);
  check(0, 0.87962566103423978 * 0.87962566103423978);
  for (float v : y) ASSERT_LT(std::fabs(v), 2);
  keep_mask(stream, 0, 0.2f, y.data(), n);
  check(1, 0.25);
}

TEST(Random, AKeepMaskKeepsAllAtRateZero) {
  on_every_target([] {
    Edge<float> mask(100);
    keep_mask(stream, 11, 0.5f, mask, 100);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(mask[i] == 0 || mask[i] == 2) << i;
    keep_mask(stream, 0, 0, mask, 100);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(1, mask[i]) << i;
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
