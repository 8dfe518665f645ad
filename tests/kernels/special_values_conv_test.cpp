// Special values in the source, the weights and the bias of our own convolutions, against plain double.
#include <algorithm>
#include <memory>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "run_kernel.hpp"
#include "special_values.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

// Padding is zeros, which are multiplied like any pixel: by an infinite weight they are NaN.
std::vector<double> plain(const Conv &c, const float *src, const float *weights, const float *bias) {
  std::vector<double> dst;
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t y = 0; y < c.oh; ++y)
      for (int64_t x = 0; x < c.ow; ++x)
        for (int64_t o = 0; o < c.oc; ++o) {
          double sum = value(bias[o]);
          for (int64_t ky = 0; ky < c.kh; ++ky)
            for (int64_t kx = 0; kx < c.kw; ++kx)
              for (int64_t i = 0; i < c.c; ++i) {
                const int64_t sy = y * c.stride_h - c.pad_top + ky * c.dil_h, sx = x * c.stride_w - c.pad_left + kx;
                const bool inside = sy >= 0 && sy < c.h && sx >= 0 && sx < c.w;
                sum += (inside ? value(src[((n * c.h + sy) * c.w + sx) * c.c + i]) : 0) *
                       value(weights[((ky * c.kw + kx) * c.c + i) * c.oc + o]);
              }
          dst.push_back(sum);
        }
  return dst;
}

// Whether Winograd's tile of a destination element reads the source at `from`.
bool tile_reads(const Conv &c, int64_t dst, int64_t from) {
  const int64_t x = dst / c.oc % c.ow, y = dst / c.oc / c.ow % c.oh, n = dst / c.oc / c.ow / c.oh;
  const int64_t sx = from / c.c % c.w, sy = from / c.c / c.w % c.h, sn = from / c.c / c.w / c.h;
  const int64_t top = y / 2 * 2 - c.pad_top, left = x / 2 * 2 - c.pad_left;
  return n == sn && sy >= top && sy < top + 4 && sx >= left && sx < left + 4;
}

// Whether this row of taps meets padding at a destination element: packed_conv leaves it out, where zeros times what
// isn't finite is NaN.
bool above_or_below(const Conv &c, int64_t dst, int64_t ky) {
  const int64_t y = dst / c.oc / c.ow % c.oh * c.stride_h - c.pad_top + ky * c.dil_h;
  return y < 0 || y >= c.h;
}

enum class By { direct, planar, packed, winograd, winograd_constant };

void check(const Conv &c, By by) {
  const bool winograd = by >= By::winograd, constant_weights = winograd || by == By::packed;
  Edge<float> src(random_floats(c.n * c.h * c.w * c.c, -1, 1, 1)), bias(random_floats(c.oc, -1, 1, 3)),
      weights(random_floats(c.kh * c.kw * c.c * c.oc, -1, 1, 2)), dst(c.n * c.oh * c.ow * c.oc);
  const Constant constant{weights};
  auto make = [&] {
    if (by == By::direct) return direct_conv(c, 2);
    if (by == By::planar) return planar_conv(c, 2);
    if (by == By::packed) return packed_conv(c, 2, &constant);
    return winograd_conv(c, 2, by == By::winograd_constant ? &constant : nullptr);
  };
  std::shared_ptr<Kernel> kernel = make();
  EXPECT_TRUE(kernel || by == By::direct);
  if (!kernel) return;  // too many channels for a vector
  // spread(dst): what isn't finite may reach this place where it should not.
  auto run = [&](const auto &spread) {
    std::fill_n(dst.data(), dst.size(), 12345.0f);
    EXPECT_EQ(testing::run_kernel(*kernel, {src.data(), weights.data(), bias.data(), dst.data()}), Fault::none);
    const auto want = plain(c, src, weights, bias);
    for (int64_t i = 0; i < dst.size(); ++i) {
      const double w = want[static_cast<size_t>(i)], got = value(dst[i]);
      if (by > By::planar && spread(i) && !std::isfinite(by == By::packed ? w : got)) continue;
      ASSERT_TRUE(near(w, got, 1e-5, 2e-5)) << kernel->name << " at " << i;
    }
  };
  at_each_place(src, [&](int64_t at) {
    run([&](int64_t i) { return winograd && !std::isfinite(src[at]) && tile_reads(c, i, at); });
  });
  at_each_place(weights, [&](int64_t at) {
    if (constant_weights) kernel = make();
    run([&](int64_t i) {
      return !std::isfinite(weights[at]) && i % c.oc == at % c.oc &&
             (winograd || above_or_below(c, i, at / c.oc / c.c / c.kw));
    });
  });
  if (constant_weights) kernel = make();
  at_each_place(bias, [&](int64_t) { run([](int64_t) { return false; }); });
}

// c with a bias and a pixel of padding around.
Conv bordered(Conv c) {
  c.pad_top = c.pad_left = c.pad_bottom = c.pad_right = 1;
  c.bias = true;
  return c;
}

TEST(SpecialValues, DirectPlanarAndPackedConv) {
  on_every_target([] {
    for (By by : {By::direct, By::planar, By::packed}) {
      check({.n = 2, .h = 3, .w = 3, .c = 1, .kh = 2, .kw = 2, .oc = 3, .oh = 2, .ow = 2, .bias = true}, by);
      check({.n = 1, .h = 1, .w = 17, .c = 1, .kw = 3, .oc = 1, .oh = 1, .ow = 15, .bias = true}, by);
      check(bordered({.n = 1, .h = 5, .w = 3, .c = 3, .kh = 3, .kw = 3, .oc = 7, .oh = 3, .ow = 3, .stride_h = 2}), by);
      check({.n = 1, .h = 5, .w = 3, .c = 1, .kh = 2, .kw = 3, .oc = 13, .oh = 3, .ow = 1, .dil_h = 2, .bias = true},
            by);
    }
  });
}

TEST(SpecialValues, WinogradConv) {
  on_every_target([] {
    for (By by : {By::winograd, By::winograd_constant}) {
      check(bordered({.n = 2, .h = 3, .w = 5, .c = 1, .kh = 3, .kw = 3, .oc = 3, .oh = 3, .ow = 5}), by);
      check({.n = 1, .h = 7, .w = 3, .c = 3, .kh = 3, .kw = 3, .oc = 5, .oh = 5, .ow = 3, .pad_right = 2, .bias = true},
            by);
    }
  });
}

// As dl4.h says: finite while 81 times channels, the largest input and the largest weight multiply to less than
// 3.4e38, no input passes 8e37 and no weight 1e38.
TEST(SpecialValues, WinogradConvNearTheEndOfTheRange) {
  const Conv c{.n = 1, .h = 6, .w = 6, .c = 8, .kh = 3, .kw = 3, .oc = 16, .oh = 4, .ow = 4, .bias = true};
  on_every_target([&] {
    for (const float largest : {8e37f, 1e19f, 5.1e-3f}) {
      const auto weight = static_cast<float>(3.3e38 / value(largest) / (81 * 8));
      for (const bool same_sign : {false, true}) {
        auto src = random_floats(36 * 8, -largest, largest, 1);
        auto weights = random_floats(9 * 8 * 16, -weight, weight, 2);
        if (same_sign) std::fill(src.begin(), src.end(), largest), std::fill(weights.begin(), weights.end(), weight);
        std::vector<float> bias(16, 0.0f), dst(16 * 16, 12345.0f);
        const auto want = plain(c, src.data(), weights.data(), bias.data());
        auto kernel = winograd_conv(c, 2);
        ASSERT_TRUE(kernel);
        EXPECT_EQ(testing::run_kernel(*kernel, {src.data(), weights.data(), bias.data(), dst.data()}), Fault::none);
        for (size_t i = 0; i < dst.size(); ++i)
          ASSERT_NEAR(dst[i] / 3e38, want[i] / 3e38, 1e-6) << i << " of inputs up to " << largest;
      }
    }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
