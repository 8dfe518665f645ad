// Convolutions as plain loops over any geometry: the last resort, for what oneDNN refuses.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"

namespace dl4::kernels {
namespace {

// Calls f(source pixel, destination pixel, first weight of the tap) for each tap inside the source, over destination
// pixels of image n and rows [row0, row1) of each of its planes.
template <class F>
void taps(const Conv &c, int64_t n, int64_t row0, int64_t row1, F f) noexcept {
  const int64_t tap = c.c / c.groups * c.oc;
  for (int64_t z = 0; z < c.od; z++)
    for (int64_t y = row0; y < row1; y++)
      for (int64_t x = 0; x < c.ow; x++)
        for (int64_t k = 0; k < c.kd * c.kh * c.kw; k++) {
          const int64_t kz = k / c.kw / c.kh, ky = k / c.kw % c.kh, kx = k % c.kw;
          const int64_t sz = z * c.stride_d - c.pad_front + kz * c.dil_d;
          const int64_t sy = y * c.stride_h - c.pad_top + ky * c.dil_h;
          const int64_t sx = x * c.stride_w - c.pad_left + kx * c.dil_w;
          if (sz < 0 || sz >= c.d || sy < 0 || sy >= c.h || sx < 0 || sx >= c.w) continue;
          f(((n * c.d + sz) * c.h + sy) * c.w + sx, ((n * c.od + z) * c.oh + y) * c.ow + x, k * tap);
        }
}

}  // namespace

std::unique_ptr<Kernel> reference_conv(const Conv &c, int64_t slices) {
  ConvCut cut(c, slices, c.od > 0 && c.ow > 0 && c.oc > 0 ? c.oh : 0);
  return make_kernel("reference_conv", cut.slices, [c, cut](int64_t slice, const Run &r) noexcept {
    ConvPart p = cut.by_destination(c, slice);
    const float *src = r.in<float>(0), *weights = r.in<float>(1), *bias = c.bias ? r.in<float>(2) : nullptr;
    float *dst = r.out<float>(0);
    int64_t in = c.c / c.groups, out = c.oc / c.groups;
    for (int64_t n = p.n0; n < p.n1; n++) {
      float *rows = dst + (n * c.od * c.oh + p.dst0) * c.ow * c.oc;
      int64_t pixels = c.od * p.dst_rows() * c.ow;
      for (int64_t i = 0; i < pixels; i++) {
        if (bias)
          std::memcpy(rows + i * c.oc, bias, static_cast<size_t>(c.oc) * sizeof(float));
        else
          std::memset(rows + i * c.oc, 0, static_cast<size_t>(c.oc) * sizeof(float));
      }
      taps(c, n, p.dst0, p.dst1, [&](int64_t from, int64_t to, int64_t tap) {
        for (int64_t g = 0; g < c.groups; g++)
          for (int64_t i = 0; i < in; i++) {
            float v = src[from * c.c + g * in + i];
            const float *w = weights + tap + i * c.oc + g * out;
            float *d = dst + to * c.oc + g * out;
            for (int64_t o = 0; o < out; o++) d[o] += v * w[o];
          }
      });
      if (c.epilogue) c.epilogue(rows, 1, pixels * c.oc, 0);
    }
  });
}

// Cut by images only: source rows shared by two slices are not worth the trouble here.
std::unique_ptr<Kernel> reference_conv_data(const Conv &c, int64_t slices) {
  int64_t count = c.d > 0 && c.h > 0 && c.w > 0 && c.c > 0 ? std::min(c.n, std::max<int64_t>(1, slices)) : 0;
  return make_kernel("reference_conv_data", count, [c, count](int64_t slice, const Run &r) noexcept {
    auto [n0, n1] = part(c.n, count, slice);
    const float *diff_dst = r.in<float>(0), *weights = r.in<float>(1);
    float *diff_src = r.out<float>(0);
    int64_t in = c.c / c.groups, out = c.oc / c.groups, image = c.d * c.h * c.w * c.c;
    std::memset(diff_src + n0 * image, 0, static_cast<size_t>((n1 - n0) * image) * sizeof(float));
    for (int64_t n = n0; n < n1; n++)
      taps(c, n, 0, c.oh, [&](int64_t from, int64_t to, int64_t tap) {
        for (int64_t g = 0; g < c.groups; g++)
          for (int64_t i = 0; i < in; i++) {
            const float *w = weights + tap + i * c.oc + g * out, *d = diff_dst + to * c.oc + g * out;
            float sum = 0;
            for (int64_t o = 0; o < out; o++) sum += d[o] * w[o];
            diff_src[from * c.c + g * in + i] += sum;
          }
      });
  });
}

std::unique_ptr<Kernel> reference_conv_weights(const Conv &c, int64_t) {
  return make_kernel("reference_conv_weights", 1, [c](int64_t, const Run &r) noexcept {
    const float *src = r.in<float>(0), *diff_dst = r.in<float>(1);
    float *diff_weights = r.out<float>(0), *diff_bias = c.bias ? r.out<float>(1) : nullptr;
    int64_t in = c.c / c.groups, out = c.oc / c.groups;
    if (diff_weights) {
      std::memset(diff_weights, 0, static_cast<size_t>(c.kd * c.kh * c.kw * in * c.oc) * sizeof(float));
      for (int64_t n = 0; n < c.n; n++)
        taps(c, n, 0, c.oh, [&](int64_t from, int64_t to, int64_t tap) {
          for (int64_t g = 0; g < c.groups; g++)
            for (int64_t i = 0; i < in; i++) {
              float v = src[from * c.c + g * in + i];
              const float *d = diff_dst + to * c.oc + g * out;
              float *w = diff_weights + tap + i * c.oc + g * out;
              for (int64_t o = 0; o < out; o++) w[o] += v * d[o];
            }
        });
    }
    if (!diff_bias) return;
    std::memset(diff_bias, 0, static_cast<size_t>(c.oc) * sizeof(float));
    for (int64_t i = 0; i < c.n * c.od * c.oh * c.ow; i++)
      for (int64_t o = 0; o < c.oc; o++) diff_bias[o] += diff_dst[i * c.oc + o];
  });
}

}  // namespace dl4::kernels
