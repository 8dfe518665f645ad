// Convolution with few output channels, by instruction set: adjacent pixels of a destination row in registers, lanes
// along the output channels, so a tap costs each pixel one broadcast from memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"

#ifndef DL4_KERNELS_CONV_ROW
#define DL4_KERNELS_CONV_ROW
namespace dl4::kernels {
namespace {
// A row of destination pixels with at most a vector of channels. Strides and offsets in floats.
struct ConvRow {
  int64_t pixels, oc;
  const float *src;     // the first pixel's window
  int64_t src_pixel;    // to the next pixel's window
  const int64_t *taps;  // offsets in a window, of single numbers or of quads
  int64_t count;
  bool fours;
  const float *weights;  // [numbers of a window, width], width whole vectors
  const float *bias;     // [width]
  float *dst;
  bool relu;
};
}  // namespace
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/conv/direct_conv.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// M pixels by N vectors of channels. Not inline: with many tiles in one function, GCC 12 for AVX2 (two to three times
// slower for 9 to 16 channels) and V8 spill the sums.
template <class Tag, int M, int N>
HWY_NOINLINE void tile(const ConvRow &r, int64_t pixel) {
  const Tag d;
  constexpr int64_t vector = hn::MaxLanes(Tag()), width = N * vector;
  constexpr int groups = (M + 2) / 3;  // three pixels share an address register
  hn::Vec<Tag> sum[M][N];
  DL4_UNROLL
  for (int m = 0; m < M; ++m) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[m][j] = hn::LoadU(d, r.bias + j * vector);
  const int64_t step = r.src_pixel, step2 = 2 * step;
  const float *from[groups];
  DL4_UNROLL
  for (int g = 0; g < groups; ++g) from[g] = r.src + (pixel + 3 * g) * step;
  const float *weights = r.weights;
  const auto add = [&](const int64_t (&at)[3], int tap) HWY_ATTR __attribute__((always_inline)) {
    hn::Vec<Tag> weight[N];
    DL4_UNROLL
    for (int j = 0; j < N; ++j) weight[j] = hn::LoadU(d, weights + tap * width + j * vector);
    DL4_UNROLL
    for (int m = 0; m < M; ++m) {
      const auto v = hn::Set(d, from[m / 3][at[m % 3] + tap]);
      DL4_UNROLL
      for (int j = 0; j < N; ++j) sum[m][j] = hn::MulAdd(v, weight[j], sum[m][j]);
    }
  };
  if (r.fours) {
    for (int64_t k = 0; k < r.count; ++k, weights += 4 * width) {
      const int64_t at[3] = {r.taps[k], r.taps[k] + step, r.taps[k] + step2};
      add(at, 0), add(at, 1), add(at, 2), add(at, 3);
    }
  } else {
    for (int64_t k = 0; k < r.count; ++k, weights += width)
      add({r.taps[k], r.taps[k] + step, r.taps[k] + step2}, 0);
  }
  if (r.relu) {
    DL4_UNROLL
    for (int m = 0; m < M; ++m) DL4_UNROLL
    for (int j = 0; j < N; ++j) sum[m][j] = relu_of(d, sum[m][j]);
  }
  float *to = r.dst + pixel * r.oc;
  if (r.oc == width) {
    DL4_UNROLL
    for (int m = 0; m < M; ++m) DL4_UNROLL
    for (int j = 0; j < N; ++j) hn::StoreU(sum[m][j], d, to + m * width + j * vector);
  } else {
    DL4_UNROLL
    for (int m = 0; m < M; ++m) {
      DL4_UNROLL
      for (int j = 0; j + 1 < N; ++j) hn::StoreU(sum[m][j], d, to + m * r.oc + j * vector);
      float *last = to + m * r.oc + (N - 1) * vector;
      // Stores a full vector of two; its excess lanes belong to the next pixel, which is stored later.
      if (m + 1 < M && (N > 1 || (M - m) * r.oc >= vector))
        hn::StoreU(sum[m][N - 1], d, last);
      else
        store_n(d, sum[m][N - 1], last, r.oc - (N - 1) * vector);
    }
  }
}

template <class Tag, int M, int N>
void tiles(const ConvRow &r, int64_t begin, int64_t end) {
  if constexpr (M > 1)
    if (end - begin < M) return tiles<Tag, M - 1, N>(r, begin, end);
  tile<Tag, M, N>(r, begin);
}

template <class Tag, int N>
void row(const ConvRow &r) {
  constexpr int most = N == 1 ? (registers == 32 ? 16 : 12) : HWY_MAX(1, HWY_MIN(12, (registers - N - 1) / N));
  const int64_t blocks = (r.pixels + most - 1) / most;
  for (int64_t b = 0; b < blocks; ++b) tiles<Tag, most, N>(r, r.pixels * b / blocks, r.pixels * (b + 1) / blocks);
}

// As many channels as fit the registers.
inline constexpr int64_t most_channels = 32;

template <int N = static_cast<int>(most_channels / lanes)>
void row_of_vectors(const ConvRow &r) {
  if constexpr (N > 1)
    if (r.oc <= (N - 1) * lanes) return row_of_vectors<N - 1>(r);
  row<D, N>(r);
}

}  // namespace

// Lanes for oc channels, in whole vectors; 0 if too many.
int64_t conv_lanes(int64_t oc) {
  if (oc <= 8 && lanes >= 8) return 8;
  return oc > most_channels ? 0 : (oc + lanes - 1) / lanes * lanes;
}

void conv_row(const ConvRow &r) {
  if (r.oc <= 8 && lanes >= 8) return row<hn::CappedTag<float, 8>, 1>(r);
  row_of_vectors(r);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {

HWY_EXPORT(conv_lanes);
HWY_EXPORT(conv_row);

int64_t at_least_0(int64_t v) { return std::max<int64_t>(0, v); }

void zero(float *at, int64_t n) { std::memset(at, 0, static_cast<size_t>(n) * sizeof(float)); }

// Whether the numbers of a window come in contiguous quads.
bool in_fours(const Conv &c) { return (c.dil_w == 1 ? checked_mul(c.kw, c.c) : c.c) % 4 == 0; }

// Offsets of a window's numbers, or quads, in rows of `width` pixels.
std::vector<int64_t> taps_of(const Conv &c, int64_t width, bool fours) {
  std::vector<int64_t> taps;
  int64_t number = 0;
  for (int64_t ky = 0; ky < c.kh; ++ky)
    for (int64_t kx = 0; kx < c.kw; ++kx)
      for (int64_t i = 0; i < c.c; ++i, ++number) {
        const int64_t pixel = checked_add(checked_mul(ky, c.dil_h, width), checked_mul(kx, c.dil_w));
        if (!fours || number % 4 == 0) taps.push_back(checked_add(checked_mul(pixel, c.c), i));
      }
  return taps;
}

}  // namespace

std::unique_ptr<Kernel> direct_conv(const Conv &c, int64_t slices) {
  const int64_t lanes = HWY_DYNAMIC_DISPATCH(conv_lanes)(c.oc);
  if (lanes == 0 || c.groups != 1 || c.pad_left < 0) return nullptr;
  if (c.is_empty()) return nullptr;
  const bool padded = c.pad_top > 0 || c.pad_bottom > 0 || c.pad_left > 0 || c.pad_right > 0;
  const int64_t width = padded ? padded_width(c) : c.w;

  ConvCut cut(c, slices, c.oh);
  int64_t rows = 0;  // of the padded source
  for (int64_t s = 0; s < cut.slices; ++s) {
    const ConvPart p = cut.by_destination(c, s);
    if (p.src_rows() <= 0 || p.pad_top < 0) return nullptr;
    if (padded) rows = std::max(rows, checked_add(p.src_rows(), at_least_0(p.pad_top), at_least_0(p.pad_bottom)));
  }
  // A copy that is mostly padding, as with a large dilation, costs more than it saves.
  if (padded && width > std::max<int64_t>(4096, checked_mul(4, c.h, c.w)) / rows) return nullptr;
  const bool fours = in_fours(c);
  std::vector<int64_t> taps = taps_of(c, width, fours);

  // Scratch of a slice: the padded source, and weights and bias padded to whole vectors.
  const bool whole = c.oc == lanes;
  const auto places = static_cast<int64_t>(taps.size());
  const int64_t count = checked_mul(c.kh, c.kw, c.c);
  const int64_t weights_at = round_up(checked_mul(rows, width, c.c), 16);
  const int64_t bias_at = checked_add(weights_at, whole ? 0 : round_up(checked_mul(count, lanes), 16));
  const int64_t floats = checked_add(bias_at, round_up(lanes, 16));

  auto run = [=, taps = std::move(taps)](int64_t slice, const Run &r) noexcept {
    const ConvPart p = cut.by_destination(c, slice);
    float *scratch = static_cast<float *>(r.scratch) + slice * floats;
    float *widened = scratch + weights_at, *bias = scratch + bias_at;
    for (int64_t k = 0; !whole && k < count; ++k) {
      zero(widened + k * lanes, lanes);
      std::copy_n(r.in<float>(1) + k * c.oc, c.oc, widened + k * lanes);
    }
    const float *weights = whole ? r.in<float>(1) : widened;
    zero(bias, lanes);
    if (c.bias) std::copy_n(r.in<float>(2), c.oc, bias);

    const int64_t row = c.ow * c.oc;
    const int64_t together = std::max<int64_t>(1, 4096 / row);  // rows per call of the epilogue, still in cache
    for (int64_t n = p.n0; n < p.n1; ++n) {
      const float *src = r.in<float>(0) + (n * c.h + p.src0) * c.w * c.c;
      if (padded) {
        pad_rows(c, p, src, scratch);
        src = scratch;
      }
      float *dst = r.out<float>(0) + (n * c.oh + p.dst0) * row;
      for (int64_t y = 0; y < p.dst_rows(); ++y) {
        HWY_DYNAMIC_DISPATCH(conv_row)
        ({c.ow, c.oc, src + y * c.stride_h * width * c.c, c.stride_w * c.c, taps.data(), places, fours, weights, bias,
          dst + y * row, c.epilogue.relu});
        const int64_t done = y % together + 1;
        if (c.epilogue && !c.epilogue.relu && (done == together || y + 1 == p.dst_rows()))
          c.epilogue(dst + (y + 1 - done) * row, 1, done * row, 0);
      }
    }
  };
  return make_kernel("direct_conv" + cut.name(), cut.slices, run, checked_mul(cut.slices, floats, 4));
}

}  // namespace dl4::kernels
#endif
