// Depthwise convolutions of any geometry and both gradients, by instruction set: lanes along the channels, sums in
// registers over the taps or pixels that meet.
#include <array>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/patches.hpp"
#include "backend/cpu/kernels/movement/repeat.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"

#ifndef DL4_KERNELS_CHANNEL_SUMS
#define DL4_KERNELS_CHANNEL_SUMS
namespace dl4::kernels {
namespace {
// out[i] = first[i] + sum over t of x[t][i] w[t][i]; first == nullptr: zeros.
struct ChannelSums {
  int64_t channels, count;
  const float *const *x, *const *w;
  const float *first;
  float *out;
};
}  // namespace
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/conv/channels_conv.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// N vectors of channels. Two sums each, so that additions overlap, in the same order for every instruction set.
template <int N, class Io>
HWY_INLINE void sums_at(const ChannelSums &s, int64_t i, const Io &io) {
  constexpr int U = 2;
  V sum[U][N];
  DL4_UNROLL
  for (int u = 0; u < U; ++u) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[u][j] = u == 0 && s.first ? io.get(s.first + i + j * lanes) : hn::Zero(D());
  int64_t t = 0;
  auto add = [&](int u) HWY_ATTR {
    const float *x = s.x[t + u] + i, *w = s.w[t + u] + i;
    DL4_UNROLL
    for (int j = 0; j < N; ++j) sum[u][j] = hn::MulAdd(io.get(x + j * lanes), io.get(w + j * lanes), sum[u][j]);
  };
  for (; t + U <= s.count; t += U) {
    DL4_UNROLL
    for (int u = 0; u < U; ++u) add(u);
  }
  for (; t < s.count; ++t) add(0);
  DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    V all = sum[0][j];
    DL4_UNROLL
    for (int u = 1; u < U; ++u) all = hn::Add(all, sum[u][j]);
    io.put(all, s.out + i + j * lanes);
  }
}

}  // namespace

void channel_sums(const ChannelSums &s) {
  int64_t i = 0;
  for (; i + 4 * lanes <= s.channels; i += 4 * lanes) sums_at<4>(s, i, Full());
  for (; i + 2 * lanes <= s.channels; i += 2 * lanes) sums_at<2>(s, i, Full());
  for (; i + lanes <= s.channels; i += lanes) sums_at<1>(s, i, Full());
  if (i < s.channels) sums_at<1>(s, i, Part{s.channels - i});
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {

HWY_EXPORT(channel_sums);

// Collects pairs of channel rows and adds their products to `out` when the list is full.
class Pairs {
 public:
  Pairs(int64_t channels, const float *first, float *out) : channels_(channels), first_(first), out_(out) {}
  void add(const float *x, const float *w) {
    if (count_ == most) flush();
    x_[count_] = x, w_[count_++] = w;
  }
  void flush() {
    HWY_DYNAMIC_DISPATCH(channel_sums)({channels_, static_cast<int64_t>(count_), x_.data(), w_.data(), first_, out_});
    first_ = out_, count_ = 0;
  }

 private:
  static constexpr size_t most = 128;
  int64_t channels_;
  const float *first_;
  float *out_;
  size_t count_ = 0;
  std::array<const float *, most> x_, w_;
};

// The source position that tap k of destination position d meets.
int64_t met(int64_t d, int64_t k, int64_t stride, int64_t dilation, int64_t pad, int64_t n) {
  const int64_t at = d * stride - pad + k * dilation;
  return at >= 0 && at < n ? at : -1;
}

// For pixel p: pairs each tap's weights with the pixel it meets in an image of (d, h, w).
template <int64_t (*along)(int64_t at, int64_t k, int64_t stride, int64_t dilation, int64_t pad, int64_t n)>
void add_taps(Pairs &sum, const Conv &c, const Pixel &p, const float *image, int64_t d, int64_t h, int64_t w,
              const float *weights) noexcept {
  for (int64_t kz = 0; kz < c.kd; ++kz) {
    const int64_t z = along(p.z, kz, c.stride_d, c.dil_d, c.pad_front, d);
    for (int64_t ky = 0; z >= 0 && ky < c.kh; ++ky) {
      const int64_t y = along(p.y, ky, c.stride_h, c.dil_h, c.pad_top, h);
      for (int64_t kx = 0; y >= 0 && kx < c.kw; ++kx) {
        const int64_t x = along(p.x, kx, c.stride_w, c.dil_w, c.pad_left, w);
        if (x >= 0)
          sum.add(image + (((p.n * d + z) * h + y) * w + x) * c.c, weights + ((kz * c.kh + ky) * c.kw + kx) * c.c);
      }
    }
  }
}

// dst = src weights + bias for pixels [first, last). Of few channels, several rows of weights lie side by side.
void scale_pixels(const Conv &c, int64_t first, int64_t last, const Run &r, const float *bias) noexcept {
  constexpr int64_t most = 1024;
  alignas(64) std::array<float, most> weights_of_run, biases_of_run;
  const float *weights = r.in<float>(1);
  const int64_t rows = std::max<int64_t>(1, most / c.c), bytes = c.c * 4;
  if (rows > 1) {
    repeat(4, bytes, rows, weights, weights_of_run.data(), 0, 1);
    if (bias) repeat(4, bytes, rows, bias, biases_of_run.data(), 0, 1);
    weights = weights_of_run.data();
    if (bias) bias = biases_of_run.data();
  }
  for (int64_t at = first * c.c, end = last * c.c, n; at < end; at += n) {
    n = std::min(rows * c.c, end - at);
    const float *x = r.in<float>(0) + at;
    HWY_DYNAMIC_DISPATCH(channel_sums)({n, 1, &x, &weights, bias, r.out<float>(0) + at});
    if (c.epilogue) c.epilogue(r.out<float>(0) + at, 1, n, 0);
  }
}

}  // namespace

std::unique_ptr<Kernel> channels_conv(const Conv &c, int64_t slices) {
  if (!is_by_channels(c)) return nullptr;
  const int64_t pixels = checked_mul(c.n, c.od, c.oh, c.ow), count = std::min(slices, pixels);
  return make_kernel("channels_conv", count, [=](int64_t slice, const Run &r) noexcept {
    const auto [first, last] = part(pixels, count, slice);
    if (scales_pixels(c)) return scale_pixels(c, first, last, r, c.bias ? r.in<float>(2) : nullptr);
    const float *src = r.in<float>(0), *weights = r.in<float>(1);
    Pixel p(first, c.od, c.oh, c.ow);
    for (int64_t i = first; i < last; ++i, p.next(c.od, c.oh, c.ow)) {
      Pairs sum(c.c, c.bias ? r.in<float>(2) : nullptr, r.out<float>(0) + i * c.c);
      add_taps<met>(sum, c, p, src, c.d, c.h, c.w, weights);
      sum.flush();
    }
    if (c.epilogue) c.epilogue(r.out<float>(0) + first * c.c, 1, (last - first) * c.c, 0);
  });
}

std::unique_ptr<Kernel> channels_conv_data(const Conv &c, int64_t slices) {
  if (!is_by_channels(c)) return nullptr;
  const int64_t pixels = checked_mul(c.n, c.d, c.h, c.w), count = std::min(slices, pixels);
  return make_kernel("channels_conv_data", count, [=](int64_t slice, const Run &r) noexcept {
    const auto [first, last] = part(pixels, count, slice);
    if (scales_pixels(c)) return scale_pixels(c, first, last, r, nullptr);
    const float *diff_dst = r.in<float>(0), *weights = r.in<float>(1);
    Pixel p(first, c.d, c.h, c.w);
    for (int64_t i = first; i < last; ++i, p.next(c.d, c.h, c.w)) {
      Pairs sum(c.c, nullptr, r.out<float>(0) + i * c.c);
      add_taps<meeting>(sum, c, p, diff_dst, c.od, c.oh, c.ow, weights);
      sum.flush();
    }
  });
}

std::unique_ptr<Kernel> channels_conv_weights(const Conv &c, int64_t slices) {
  if (!is_by_channels(c)) return nullptr;
  constexpr int64_t line = 16;
  const int64_t pixels = checked_mul(c.n, c.od, c.oh, c.ow), taps = checked_mul(c.kd, c.kh, c.kw);
  const int64_t count = std::min(slices, (c.c + line - 1) / line);
  return make_kernel("channels_conv_weights", count, [=](int64_t slice, const Run &r) noexcept {
    const auto [first, last] = part(c.c, count, slice, line);
    const float *src = r.in<float>(0) + first, *diff_dst = r.in<float>(1) + first;
    float *diff_weights = r.out<float>(0);
    if (float *diff_bias = c.bias ? r.out<float>(1) : nullptr)
      reduce(Reduce::sum, diff_dst, diff_bias + first, 1, pixels, last - first, c.c);
    for (int64_t tap = 0; diff_weights && tap < taps; ++tap) {
      const int64_t kz = tap / c.kw / c.kh, ky = tap / c.kw % c.kh, kx = tap % c.kw;
      Pairs sum(last - first, nullptr, diff_weights + tap * c.c + first);
      for (int64_t plane = 0; plane < c.n * c.od * c.oh; ++plane) {
        const int64_t n = plane / c.oh / c.od;
        const int64_t z = met(plane / c.oh % c.od, kz, c.stride_d, c.dil_d, c.pad_front, c.d);
        const int64_t y = met(plane % c.oh, ky, c.stride_h, c.dil_h, c.pad_top, c.h);
        for (int64_t i = 0; z >= 0 && y >= 0 && i < c.ow; ++i) {
          const int64_t x = met(i, kx, c.stride_w, c.dil_w, c.pad_left, c.w);
          if (x >= 0) sum.add(src + (((n * c.d + z) * c.h + y) * c.w + x) * c.c, diff_dst + (plane * c.ow + i) * c.c);
        }
      }
      sum.flush();
    }
  });
}

}  // namespace dl4::kernels
#endif
