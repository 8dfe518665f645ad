// The source gradient of a convolution from the products of each destination pixel and all taps, by instruction set:
// those of a pixel and a row of taps are one run, added to a run of the source's row.
#include <algorithm>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/patches.hpp"

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/conv/added_rows.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// Adds `count` runs of n floats, src_step apart, to runs dst_step apart.
void add_runs(const float *src, int64_t src_step, int64_t count, int64_t n, float *dst, int64_t dst_step) {
  for (int64_t i = 0; i < count; ++i, src += src_step, dst += dst_step)
    each(n, [&](int64_t at, auto io) HWY_ATTR { io.put(hn::Add(io.get(dst + at), io.get(src + at)), dst + at); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {

HWY_EXPORT(add_runs);

// Adds the runs of a row of destination pixels, whose products are `step` apart, to a row of the source.
void add_row(const Conv &c, const float *products, int64_t step, float *row) {
  for (int64_t x = 0; x < c.ow;) {
    const int64_t first = x * c.stride_w - c.pad_left, skip = std::max<int64_t>(0, -first);
    const int64_t taps = std::min(c.kw, c.w - first) - skip;
    int64_t count = 1;  // pixels whose runs are inside
    if (skip == 0 && taps == c.kw) count = std::min(c.ow - x, (c.w - c.kw - first) / c.stride_w + 1);
    if (taps > 0) HWY_DYNAMIC_DISPATCH(add_runs)
    (products + x * step + skip * c.c, step, count, taps * c.c, row + (first + skip) * c.c, c.stride_w * c.c);
    x += count;
  }
}

}  // namespace

std::unique_ptr<Kernel> added_rows(const Conv &c, int64_t slices) {
  if (c.is_empty() || c.groups != 1 || c.dil_w != 1) return nullptr;
  const int64_t rows = checked_mul(c.n, c.d, c.h), count = std::min(slices, rows);
  return make_kernel("added_rows", count, [=](int64_t slice, const Run &r) noexcept {
    const int64_t run = c.kw * c.c, step = c.kd * c.kh * run;
    const auto [begin, end] = part(rows, count, slice);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % c.h, z = i / c.h % c.d, n = i / c.h / c.d;
      float *const row = r.out<float>(0) + i * c.w * c.c;
      std::fill_n(row, c.w * c.c, 0.0f);
      for (int64_t kz = 0; kz < c.kd; ++kz) {
        const int64_t oz = meeting(z, kz, c.stride_d, c.dil_d, c.pad_front, c.od);
        for (int64_t ky = 0; oz >= 0 && ky < c.kh; ++ky) {
          const int64_t oy = meeting(y, ky, c.stride_h, c.dil_h, c.pad_top, c.oh);
          if (oy >= 0)
            add_row(c, r.in<float>(0) + ((n * c.od + oz) * c.oh + oy) * c.ow * step + (kz * c.kh + ky) * run, step,
                    row);
        }
      }
    }
  });
}

}  // namespace dl4::kernels
#endif
