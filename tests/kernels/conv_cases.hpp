// Convolutions of many geometries, and sums in double that kernels are checked against.
#pragma once

#include "backend/cpu/kernels/conv/conv.hpp"

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "run_kernel.hpp"

namespace dl4::kernels::testing {

struct Sizes {
  const char *name;
  int64_t n, h, w, c, oc, kh, kw, stride_h = 1, stride_w = 1, dil_h = 1, dil_w = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0, groups = 1;
};

inline Conv conv_of(const Sizes &s, bool bias) {
  Conv c{.n = s.n, .h = s.h, .w = s.w, .c = s.c, .kh = s.kh, .kw = s.kw, .oc = s.oc};
  c.stride_h = s.stride_h;
  c.stride_w = s.stride_w;
  c.dil_h = s.dil_h;
  c.dil_w = s.dil_w;
  c.pad_top = s.top;
  c.pad_left = s.left;
  c.pad_bottom = s.bottom;
  c.pad_right = s.right;
  c.groups = s.groups;
  c.bias = bias;
  c.oh = (s.h + s.top + s.bottom - (s.kh - 1) * s.dil_h - 1) / s.stride_h + 1;
  c.ow = (s.w + s.left + s.right - (s.kw - 1) * s.dil_w - 1) / s.stride_w + 1;
  return c;
}

inline const Sizes table[] = {
    {"3x3 same", 3, 13, 11, 16, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {"one image", 1, 28, 28, 3, 20, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},
    {"1x1", 2, 9, 7, 33, 17, 1, 1},
    {"1x1 stride 2", 2, 9, 7, 16, 16, 1, 1, 2, 2},
    {"stride 2 uneven pads", 4, 10, 12, 5, 7, 3, 2, 2, 3, 1, 1, 0, 1, 1, 0},
    {"rows left over", 2, 12, 12, 8, 8, 3, 3, 4, 4},
    {"stride 4", 2, 44, 44, 4, 16, 8, 8, 4, 4},
    {"dilation", 2, 17, 15, 8, 16, 3, 3, 1, 1, 2, 3, 2, 3, 2, 3},
    {"dilation past the edge", 1, 5, 5, 4, 4, 3, 3, 1, 1, 4, 4, 4, 4, 4, 4},
    {"one live tap", 2, 7, 12, 16, 16, 3, 3, 1, 1, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30},
    {"two live taps, causal", 2, 1, 12, 16, 24, 1, 3, 1, 1, 1, 8, 0, 16, 0, 0},
    {"outer taps dead, strides", 2, 9, 10, 8, 16, 5, 5, 2, 3, 6, 7, 12, 14, 12, 14},
    {"dead groups", 2, 5, 5, 32, 32, 3, 5, 1, 1, 4, 6, 4, 12, 4, 12, 2},
    {"dead taps that a pad must keep", 1, 8, 8, 16, 16, 3, 3, 8, 8, 8, 8, 5, 5, 4, 4},
    {"no live tap", 2, 5, 5, 16, 16, 2, 2, 1, 1, 1 << 20, 1 << 20, 1 << 19, 1 << 19, 1 << 19, 1 << 19},
    {"two groups", 2, 9, 9, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2},
    {"odd groups", 2, 9, 9, 6, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3},
    {"depthwise", 3, 14, 14, 32, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 32},
    {"depthwise twice", 1, 8, 8, 5, 10, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1, 5},
    {"depthwise, strides, dilation by rows", 2, 15, 13, 21, 21, 5, 5, 2, 2, 2, 1, 3, 5, 4, 2, 21},
    {"depthwise, all at the edge", 1, 3, 4, 16, 16, 5, 7, 1, 1, 1, 1, 2, 3, 2, 3, 16},
    {"depthwise, 7 wide by 2", 2, 4, 29, 24, 24, 1, 7, 1, 2, 1, 1, 0, 2, 0, 4, 24},
    {"depthwise, rows left over", 2, 12, 24, 40, 40, 3, 3, 4, 2, 1, 1, 0, 0, 0, 0, 40},
    {"depthwise, one live row", 2, 7, 12, 19, 19, 3, 3, 1, 1, 1 << 30, 1, 1 << 30, 1, 1 << 30, 1, 19},
    {"depthwise, no live row", 1, 5, 8, 16, 16, 2, 5, 1, 1, 1 << 20, 1, 1 << 19, 1, 1 << 19, 1, 16},
    {"depthwise, pads wider than the window", 1, 3, 9, 17, 17, 3, 3, 1, 1, 1, 1, 1, 20, 1, 20, 17},
    {"depthwise, dilation", 1, 9, 9, 17, 17, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2, 17},
    {"one channel", 7, 12, 12, 1, 1, 2, 3},
    {"row vector", 2, 1, 50, 12, 24, 1, 5, 1, 1, 1, 1, 0, 2, 0, 2},
    {"pads wider than the window", 1, 3, 3, 4, 4, 2, 2, 1, 1, 1, 1, 4, 4, 4, 4},
    {"3x3 wide", 2, 15, 9, 33, 40, 3, 3},
    {"3x3 uneven pads", 1, 6, 7, 64, 32, 3, 3, 1, 1, 1, 1, 2, 0, 1, 3},
    {"more weights than pixels", 1, 5, 4, 70, 100, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {"1x1 with padding", 1, 5, 6, 12, 40, 1, 1, 1, 1, 1, 1, 2, 1, 1, 2},
    {"many rows", 1, 150, 9, 20, 24, 3, 1, 2, 1, 2, 1, 1, 0, 1, 0},
    {"few channels", 8, 12, 12, 1, 6, 3, 3, 2, 2, 1, 1, 1, 1, 0, 0},
};

struct Data {
  Conv c;
  Guarded src, weights, bias, diff_dst;

  Data(const Conv &conv, std::mt19937 &random)
      : c(conv),
        src(c.n * c.h * c.w * c.c, random),
        weights(c.kh * c.kw * c.c / c.groups * c.oc, random),
        bias(c.oc, random),
        diff_dst(c.n * c.oh * c.ow * c.oc, random) {}

  // f(src, weight, dst) for every product that is summed.
  template <class F>
  void each(const F &f) const {
    int64_t in = c.c / c.groups, out = c.oc / c.groups;
    for (int64_t n = 0; n < c.n; n++)
      for (int64_t y = 0; y < c.oh; y++)
        for (int64_t x = 0; x < c.ow; x++)
          for (int64_t ky = 0; ky < c.kh; ky++)
            for (int64_t kx = 0; kx < c.kw; kx++) {
              int64_t sy = y * c.stride_h - c.pad_top + ky * c.dil_h, sx = x * c.stride_w - c.pad_left + kx * c.dil_w;
              if (sy < 0 || sx < 0 || sy >= c.h || sx >= c.w) continue;
              for (int64_t o = 0; o < c.oc; o++)
                for (int64_t i = 0; i < in; i++)
                  f(((n * c.h + sy) * c.w + sx) * c.c + o / out * in + i, ((ky * c.kw + kx) * in + i) * c.oc + o,
                    ((n * c.oh + y) * c.ow + x) * c.oc + o);
            }
  }
  std::vector<double> forward() const {
    std::vector<double> want(static_cast<size_t>(diff_dst.size()));
    for (size_t i = 0; i < want.size(); i++) want[i] = c.bias ? bias[static_cast<int64_t>(i) % c.oc] : 0;
    each([&](int64_t s, int64_t w, int64_t d) { want[static_cast<size_t>(d)] += double{src[s]} * weights[w]; });
    if (c.epilogue)
      for (double &v : want) v = 2 * v + 1;
    return want;
  }
  std::vector<double> data() const {
    std::vector<double> want(static_cast<size_t>(src.size()));
    each([&](int64_t s, int64_t w, int64_t d) { want[static_cast<size_t>(s)] += double{diff_dst[d]} * weights[w]; });
    return want;
  }
  std::vector<double> by_weights() const {
    std::vector<double> want(static_cast<size_t>(weights.size()));
    each([&](int64_t s, int64_t w, int64_t d) { want[static_cast<size_t>(w)] += double{diff_dst[d]} * src[s]; });
    return want;
  }
  std::vector<double> by_bias() const {
    std::vector<double> want(static_cast<size_t>(c.oc));
    for (int64_t i = 0; i < diff_dst.size(); i++) want[static_cast<size_t>(i % c.oc)] += diff_dst[i];
    return want;
  }
};

inline void check(const Kernel *kernel, std::vector<void *> args, const std::vector<double> &want, const char *name) {
  if (!kernel) return;
  Guarded out(static_cast<int64_t>(want.size()));
  args.push_back(out.begin());
  EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
  EXPECT_TRUE(near(out, want, 2e-5)) << kernel->name << ": " << name << ", slices " << kernel->slices;
  expect_same_bits(*kernel, args, args.size() - 1, out);
}

// make(conv, constant weights, slices) -> kernels; checked for all sizes with and without a bias and an epilogue.
template <class Make>
void check_forward(uint32_t seed, const Make &make) {
  std::mt19937 random(seed);
  for (const Sizes &s : table)
    for (bool bias : {false, true}) {
      Data d(conv_of(s, bias), random);
      if (bias) d.c.epilogue.run = doubled_plus_one;
      auto want = d.forward();
      std::vector<void *> args{d.src.begin(), d.weights.begin()};
      if (bias) args.push_back(d.bias.begin());
      Constant constant{d.weights.begin()};
      for (int64_t slices : {1, 2, 3, 7})
        for (const auto &kernel : make(d.c, constant, slices)) check(kernel.get(), args, want, s.name);
    }
}

// make(conv, constant weights, slices) -> kernels; checked for all sizes.
template <class Make>
void check_by_source(uint32_t seed, const Make &make) {
  std::mt19937 random(seed);
  for (const Sizes &s : table) {
    Data d(conv_of(s, false), random);
    auto want = d.data();
    std::vector<void *> args{d.diff_dst.begin(), d.weights.begin()};
    Constant constant{d.weights.begin()};
    for (int64_t slices : {1, 2, 3, 7})
      for (const auto &kernel : make(d.c, constant, slices)) check(kernel.get(), args, want, s.name);
  }
}

// make(conv, slices) -> kernels; checked for all sizes, with the bias and by itself.
template <class Make>
void check_by_weights(uint32_t seed, const Make &make) {
  std::mt19937 random(seed);
  for (const Sizes &s : table)
    for (bool bias : {false, true}) {
      Data d(conv_of(s, bias), random);
      auto want = d.by_weights(), want_bias = d.by_bias();
      for (int64_t slices : {1, 2, 3, 7})
        for (const auto &kernel : make(d.c, slices)) {
          if (!kernel) continue;
          Guarded out(d.weights.size()), out_bias(d.c.oc);
          std::vector<void *> args{d.src.begin(), d.diff_dst.begin(), out.begin()};
          if (bias) args.push_back(out_bias.begin());
          const int results = bias ? 2 : 1;
          EXPECT_EQ(run_kernel(*kernel, args, Who::caller, results), Fault::none);
          EXPECT_TRUE(near(out, want, 1e-4)) << kernel->name << ": " << s.name << ", slices " << kernel->slices;
          expect_same_bits(*kernel, args, 2, out, results);
          if (!bias) continue;
          EXPECT_TRUE(near(out_bias, want_bias, 1e-4)) << kernel->name << ": " << s.name;
          Guarded alone(d.c.oc);
          args = {d.src.begin(), d.diff_dst.begin(), nullptr, alone.begin()};
          EXPECT_EQ(run_kernel(*kernel, args, Who::caller, 2), Fault::none);
          EXPECT_TRUE(near(alone, want_bias, 1e-4)) << kernel->name << ": " << s.name;
        }
    }
}

}  // namespace dl4::kernels::testing
