// Per instruction set: the cells of pooling's windows.
#if defined(DL4_KERNELS_POOL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_POOL_INL
#undef DL4_KERNELS_POOL_INL
#else
#define DL4_KERNELS_POOL_INL
#endif

#include "backend/cpu/kernels/reduce/pool.hpp"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int64_t strip = 4096;  // floats

// Cells of an axis inside the image: [begin, end).
struct Cells {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
HWY_INLINE Cells cells(const Pool &p, const PoolAxis &a, int64_t i) {
  if (p.adaptive) return {i * a.n / a.out, ((i + 1) * a.n + a.out - 1) / a.out};
  const int64_t first = i * a.stride - a.pad;
  return {HWY_MAX(first, int64_t{0}), HWY_MIN(first + a.size, a.n)};
}

// The cells of a window inside the image: planes, rows and columns.
struct Window {
  Cells d, h, w;
  float count() const { return static_cast<float>(d.size() * h.size() * w.size()); }
};

HWY_INLINE Window window(const Pool &p, int64_t od, int64_t oh, int64_t ow) {
  return {cells(p, p.d, od), cells(p, p.h, oh), cells(p, p.w, ow)};
}

// f(first cell of the row) for each row of a window's cells.
template <class F>
HWY_INLINE void rows(const Pool &p, const Window &w, const F &f) {
  for (int64_t d = w.d.begin; d < w.d.end; ++d)
    for (int64_t h = w.h.begin; h < w.h.end; ++h) f(((d * p.h.n + h) * p.w.n + w.w.begin) * p.c);
}

}  // namespace
}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
