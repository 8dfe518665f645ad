// Per instruction set: vectors of floats, and loads and stores of fewer than a vector that touch nothing beyond.
#if defined(DL4_KERNELS_SIMD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_SIMD_INL
#undef DL4_KERNELS_SIMD_INL
#else
#define DL4_KERNELS_SIMD_INL
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;
inline constexpr int64_t lanes = hn::MaxLanes(D());
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int registers = 32;
#else
inline constexpr int registers = 16;
#endif

HWY_INLINE V set(float v) { return hn::Set(D(), v); }
HWY_INLINE V load(const float *p) { return hn::LoadU(D(), p); }
HWY_INLINE void store(V v, float *p) { hn::StoreU(v, D(), p); }

// The first n floats, fewer than a vector of d, with zeros behind.
template <class DX>
HWY_INLINE hn::Vec<DX> load_n(DX d, const float *p, int64_t n) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  HWY_ALIGN float buffer[hn::MaxLanes(DX())] = {};
  std::memcpy(buffer, p, static_cast<size_t>(n) * sizeof(float));
  return hn::Load(d, buffer);
#endif
}
HWY_INLINE V load_n(const float *p, int64_t n) { return load_n(D(), p, n); }

template <class DX>
HWY_INLINE void store_n(DX d, hn::Vec<DX> v, float *p, int64_t n) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  HWY_ALIGN float buffer[hn::MaxLanes(DX())];
  hn::Store(v, d, buffer);
  std::memcpy(p, buffer, static_cast<size_t>(n) * sizeof(float));
#endif
}
HWY_INLINE void store_n(V v, float *p, int64_t n) { store_n(D(), v, p, n); }

// y[i] = f(x[i]).
template <class F>
HWY_INLINE void map(const float *x, float *y, int64_t n, const F &f) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(f(load(x + i)), y + i);
  if (i < n) store_n(f(load_n(x + i, n - i)), y + i, n - i);
}

// z[i] = f(x[i], y[i]).
template <class F>
HWY_INLINE void map(const float *x, const float *y, float *z, int64_t n, const F &f) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(f(load(x + i), load(y + i)), z + i);
  if (i < n) store_n(f(load_n(x + i, n - i), load_n(y + i, n - i)), z + i, n - i);
}

// How a step over part of an array reads and writes: a vector, or its first m floats.
struct Full {
  HWY_INLINE V get(const float *p) const { return load(p); }
  HWY_INLINE void put(V v, float *p) const { store(v, p); }
};
struct Part {
  int64_t m;
  HWY_INLINE V get(const float *p) const { return load_n(p, m); }
  HWY_INLINE void put(V v, float *p) const { store_n(v, p, m); }
};

// f(i, Full or Part) for every vector of n floats.
template <class F>
HWY_INLINE void each(int64_t n, const F &f) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, Full());
  if (i < n) f(i, Part{n - i});
}

// The larger or smaller one; NaN if either is.
template <class VX>
HWY_INLINE VX max_nan(VX a, VX b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}
template <class VX>
HWY_INLINE VX min_nan(VX a, VX b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}

// All lanes by f, half with half: a fixed tree, so that the order does not depend on the library's.
template <class DX, class F>
HWY_INLINE float join_lanes(DX, hn::Vec<DX> v, const F &f) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(f);
  return hn::GetLane(v);
#else
  if constexpr (hn::MaxLanes(DX()) > 4) {
    const hn::Half<DX> half;
    return join_lanes(half, f(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), f);
  } else {
    v = f(v, hn::Shuffle1032(v));
    return hn::GetLane(f(v, hn::Shuffle2301(v)));
  }
#endif
}
HWY_INLINE float sum_lanes(V v) {
  return join_lanes(D(), v, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}
HWY_INLINE float max_lanes(V v) {
  return join_lanes(D(), v, [](auto a, auto b) HWY_ATTR { return max_nan(a, b); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
