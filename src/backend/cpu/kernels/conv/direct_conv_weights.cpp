// The weight gradient of a convolution with few input channels, by instruction set: lanes along the output channels,
// sums of several taps in registers, so a pixel costs each one broadcast from memory.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"

#ifndef DL4_KERNELS_TAP_SUMS
#define DL4_KERNELS_TAP_SUMS
namespace dl4::kernels {
namespace {
// Contiguous numbers in some lines of a window.
struct Taps {
  int64_t line, lines, first, count;
};
// Their sums over an image. Strides in floats.
struct TapSums {
  int64_t rows, cols;  // of the destination
  const float *src;    // first of the numbers in the first pixel's window
  int64_t src_row, src_pixel, src_line;
  const float *diff_dst;
  int64_t oc;
  float *diff_weights;
  int64_t weights_line;
  bool first;  // overwrites the sums
};
}  // namespace
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/conv/direct_conv_weights.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int most_taps = 8, most_lines = registers == 32 ? 2 : 1;

// L lines of T taps, for the vector of output channels at j.
template <int L, int T, class Io>
HWY_INLINE void tile(const TapSums &p, int64_t j, const Io &io) {
  V sum[L][T];
  DL4_UNROLL
  for (int l = 0; l < L; ++l) DL4_UNROLL
  for (int t = 0; t < T; ++t) sum[l][t] = hn::Zero(D());
  const float *dst = p.diff_dst + j;
  for (int64_t y = 0; y < p.rows; ++y) {
    const float *src = p.src + y * p.src_row;
    for (int64_t x = 0; x < p.cols; ++x, src += p.src_pixel, dst += p.oc) {
      const V d = io.get(dst);
      DL4_UNROLL
      for (int l = 0; l < L; ++l) DL4_UNROLL
      for (int t = 0; t < T; ++t) sum[l][t] = hn::MulAdd(set(src[l * p.src_line + t]), d, sum[l][t]);
    }
  }
  DL4_UNROLL
  for (int l = 0; l < L; ++l) DL4_UNROLL
  for (int t = 0; t < T; ++t) {
    float *to = p.diff_weights + l * p.weights_line + t * p.oc + j;
    io.put(p.first ? sum[l][t] : hn::Add(io.get(to), sum[l][t]), to);
  }
}

template <int L, int T>
void taps_of(const TapSums &p) {
  each(p.oc, [&](int64_t j, auto io) HWY_ATTR { tile<L, T>(p, j, io); });
}
template <int L, int... t>
constexpr auto by_count(std::integer_sequence<int, t...>) {
  return std::array{taps_of<L, t + 1>...};
}

}  // namespace

int64_t tap_lines() { return most_lines; }

void tap_sums(const TapSums &p, int64_t lines, int64_t count) {
  constexpr auto all = std::make_integer_sequence<int, most_taps>();
  static constexpr std::array one = by_count<1>(all), two = by_count<most_lines>(all);
  (lines == 1 ? one : two)[static_cast<size_t>(count - 1)](p);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {

HWY_EXPORT(tap_lines);
HWY_EXPORT(tap_sums);

std::vector<Taps> all_taps(const Conv &c) {
  const int64_t together = HWY_DYNAMIC_DISPATCH(tap_lines)(), line = checked_mul(c.kw, c.c), cuts = (line + 7) / 8;
  std::vector<Taps> all;
  for (int64_t y = 0; y < c.kh; y += together)
    for (int64_t i = 0; i < cuts; ++i) {
      const auto [first, last] = part(line, cuts, i);
      const int64_t lines = std::min(together, c.kh - y);
      all.push_back({y, lines, first, last - first});
    }
  return all;
}

}  // namespace

std::unique_ptr<Kernel> direct_conv_weights(const Conv &c, int64_t slices) {
  constexpr int64_t most_floats = 1 << 20;
  if (c.groups != 1 || c.is_3d() || c.is_empty() || (c.kw > 1 && c.dil_w > 1) || c.pad_left < 0) return nullptr;
  const ConvPart image = ConvCut(c, 1, c.oh).by_destination(c, 0);
  if (image.pad_top < 0) return nullptr;
  const bool padded = image.pad_top > 0 || image.pad_bottom > 0 || c.pad_left > 0 || c.pad_right > 0;
  const int64_t width = checked_mul(padded ? padded_width(c) : c.w, c.c);
  const int64_t rows = checked_add(c.h, image.pad_top, std::max<int64_t>(0, image.pad_bottom));
  const int64_t floats = padded ? round_up(checked_mul(rows, width), 16) : 0;
  if (floats > most_floats) return nullptr;
  std::vector<Taps> all = all_taps(c);
  const auto count = static_cast<int64_t>(all.size());
  const int64_t parts = std::clamp<int64_t>(slices, 1, count);
  const int64_t line = checked_mul(c.kw, c.c, c.oc), pixels = checked_mul(c.n, c.oh, c.ow);
  auto run = [=, all = std::move(all)](int64_t slice, const Run &r) noexcept {
    const float *diff_dst = r.in<float>(1);
    if (float *diff_bias = c.bias ? r.out<float>(1) : nullptr) {
      const auto [first, last] = part(c.oc, parts, slice, 16);
      if (first < last) reduce(Reduce::sum, diff_dst + first, diff_bias + first, 1, pixels, last - first, c.oc);
    }
    float *diff_weights = r.out<float>(0);
    if (!diff_weights) return;
    const auto [first, last] = part(count, parts, slice);
    float *room = static_cast<float *>(r.scratch) + slice * floats;
    for (int64_t n = 0; n < c.n; ++n) {
      const float *src = r.in<float>(0) + n * c.h * c.w * c.c;
      if (padded) pad_rows(c, image, src, room), src = room;
      for (int64_t i = first; i < last; ++i) {
        const Taps &t = all[static_cast<size_t>(i)];
        HWY_DYNAMIC_DISPATCH(tap_sums)
        ({c.oh, c.ow, src + t.line * c.dil_h * width + t.first, c.stride_h * width, c.stride_w * c.c, c.dil_h * width,
          diff_dst + n * c.oh * c.ow * c.oc, c.oc, diff_weights + t.line * line + t.first * c.oc, line, n == 0},
         t.lines, t.count);
      }
    }
  };
  return make_kernel("direct_conv_weights", parts, run, checked_mul(parts, floats, 4));
}

}  // namespace dl4::kernels
#endif
