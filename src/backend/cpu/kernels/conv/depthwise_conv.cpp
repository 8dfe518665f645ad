// Depthwise convolution, by instruction set: adjacent pixels of a destination row in registers, lanes along the
// channels. Taps outside the image are skipped, so nothing is copied.
#include <algorithm>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"

#ifndef DL4_KERNELS_DEPTHWISE_ROW
#define DL4_KERNELS_DEPTHWISE_ROW
namespace dl4::kernels {
namespace {
// A row of destination pixels. Strides in floats.
struct DepthwiseRow {
  int64_t c, channels;  // per pixel; those computed here
  int64_t kw, w, ow, stride, pad_left;
  int64_t rows;          // of taps inside the image
  const float *src;      // first of its rows
  int64_t src_row;       // to the next row of taps
  const float *weights;  // [rows, kw, c]
  const float *bias;     // [c], or nullptr
  float *dst;
};
}  // namespace
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/conv/depthwise_conv.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// Pixels per tile: widths of images are often multiples of 7.
inline constexpr int together = 7;

struct Masked {
  FirstOf<D> of;
  HWY_INLINE V get(const float *p) const { return of.get(D(), p); }
  HWY_INLINE void put(V v, float *p) const { of.put(D(), v, p); }
};

// M pixels from `pixel` on by a vector of channels with K taps a row; io reads and writes all or the first lanes. Each
// source pixel is read once for all sums it adds to. at_edge: some source pixels are outside the image.
template <int M, int K, int stride, bool at_edge, class Io>
HWY_INLINE void tile(const DepthwiseRow &r, int64_t pixel, int64_t channel, const Io &io) {
  const int64_t c = r.c, begin = pixel * stride - r.pad_left;
  V sum[M];
  DL4_UNROLL
  for (int m = 0; m < M; ++m) sum[m] = r.bias ? io.get(r.bias + channel) : hn::Zero(D());
  const float *row = r.src + begin * c + channel, *weights = r.weights + channel;
  for (int64_t y = 0; y < r.rows; ++y, row += r.src_row) {
    V weight[K];
    DL4_UNROLL
    for (int k = 0; k < K; ++k, weights += c) weight[k] = io.get(weights);
    const float *from = row;
    DL4_UNROLL
    for (int x = 0; x < (M - 1) * stride + K; ++x, from += c) {
      if (at_edge && (begin + x < 0 || begin + x >= r.w)) continue;
      const V v = io.get(from);
      DL4_UNROLL
      for (int m = 0; m < M; ++m)
        if (x >= m * stride && x < m * stride + K) sum[m] = hn::MulAdd(v, weight[x - m * stride], sum[m]);
    }
  }
  float *to = r.dst + pixel * c + channel;
  DL4_UNROLL
  for (int m = 0; m < M; ++m, to += c) io.put(sum[m], to);
}

template <int M, int K, int stride, bool at_edge>
void tiles(const DepthwiseRow &r, int64_t pixel) {
#if HWY_TARGET == HWY_AVX3  // masks are free there, so one tile serves whole vectors too
  for (int64_t channel = 0; channel < r.channels; channel += lanes)
    tile<M, K, stride, at_edge>(r, pixel, channel, Masked{first_of(D(), r.channels - channel)});
#else
  each(r.channels, [&](int64_t channel, auto io) HWY_ATTR { tile<M, K, stride, at_edge>(r, pixel, channel, io); });
#endif
}

template <int K, int stride>
void row(const DepthwiseRow &r) {
  if (r.ow < together) {
    for (int64_t pixel = 0; pixel < r.ow; ++pixel) tiles<1, K, stride, true>(r, pixel);
    return;
  }
  for (int64_t next = 0; next < r.ow; next += together) {
    const int64_t pixel = HWY_MIN(next, r.ow - together);  // the last tile overlaps the one before
    const int64_t begin = pixel * stride - r.pad_left, end = begin + (together - 1) * stride + K;
    if (begin >= 0 && end <= r.w)
      tiles<together, K, stride, false>(r, pixel);
    else
      tiles<together, K, stride, true>(r, pixel);
  }
}

template <int K>
void strides(const DepthwiseRow &r) {
  r.stride == 1 ? row<K, 1>(r) : row<K, 2>(r);
}

}  // namespace

void depthwise_row(const DepthwiseRow &r) {
  switch (r.kw) {
    case 2:
      return strides<2>(r);
    case 3:
      return strides<3>(r);
    case 4:
      return strides<4>(r);
    case 5:
      return strides<5>(r);
    case 6:
      return strides<6>(r);
    default:
      return strides<7>(r);
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {

HWY_EXPORT(depthwise_row);

std::unique_ptr<Kernel> depthwise_conv(const Conv &c, int64_t slices) {
  if (!is_for_depthwise(c)) return nullptr;
  const ConvCut cut(c, slices, c.oh);
  const int64_t width = checked_mul(c.w, c.c), src_row = checked_mul(c.dil_h, width), row = checked_mul(c.ow, c.c);
  // Checks positions of taps outside the image too, which are computed before they are skipped.
  for (int64_t pad : {c.pad_top, c.pad_bottom}) checked_mul(checked_add(c.h, std::max<int64_t>(0, pad)), width);
  for (int64_t pad : {c.pad_left, c.pad_right}) checked_mul(checked_add(c.w, std::max<int64_t>(0, pad)), c.c);
  // As many channels as keep the rows read and written in the L1 cache.
  constexpr int64_t cached = 12288, least = 64;  // floats; two cache lines
  const int64_t channels = std::clamp(cached / checked_mul(c.w, c.kh + 1) / least * least, least, round_up(c.c, least));
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const ConvPart p = cut.by_destination(c, slice);
    for (int64_t n = p.n0; n < p.n1; ++n) {
      for (int64_t channel = 0; channel < c.c; channel += channels) {
        const int64_t count = std::min(channels, c.c - channel);
        float *dst = r.out<float>(0) + (n * c.oh + p.dst0) * row + channel;
        for (int64_t y = 0; y < p.dst_rows(); ++y, dst += row) {
          const int64_t from = (p.dst0 + y) * c.stride_h - c.pad_top;
          const int64_t end = std::min(c.kh, from >= c.h ? 0 : (c.h - from + c.dil_h - 1) / c.dil_h);
          const int64_t begin = std::min(end, from >= 0 ? 0 : (-from + c.dil_h - 1) / c.dil_h);
          const float *src = r.in<float>(0) + (n * c.h + from + begin * c.dil_h) * width + channel;
          const float *weights = r.in<float>(1) + begin * c.kw * c.c + channel;
          HWY_DYNAMIC_DISPATCH(depthwise_row)
          ({c.c, count, c.kw, c.w, c.ow, c.stride_w, c.pad_left, end - begin, src, src_row, weights,
            c.bias ? r.in<float>(2) + channel : nullptr, dst});
          if (c.epilogue) c.epilogue(dst, c.ow, count, c.c);
        }
      }
    }
  };
  return make_kernel("depthwise_conv" + cut.name(), cut.slices, run);
}

}  // namespace dl4::kernels
#endif
