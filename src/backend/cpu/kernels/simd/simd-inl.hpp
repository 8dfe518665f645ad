// Per instruction set: float vectors, and partial loads and stores that touch nothing beyond their range.
#if defined(DL4_KERNELS_SIMD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_SIMD_INL
#undef DL4_KERNELS_SIMD_INL
#else
#define DL4_KERNELS_SIMD_INL
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

// Processors without AVX2 are old and rare: for them small code is worth more than fast code. -Os would not inline the
// lambdas of inner loops, which doubles the time. clang has no such pragma.
#if HWY_ARCH_X86 && HWY_TARGET == HWY_SSE4 && HWY_COMPILER_GCC && !HWY_COMPILER_CLANG && defined(__OPTIMIZE__)
#undef HWY_BEFORE_NAMESPACE
#define HWY_BEFORE_NAMESPACE() HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR) HWY_PRAGMA(GCC optimize "O2")
#endif
// Not inlined where a partial vector goes through memory.
#undef DL4_PART_INLINE
#if HWY_ARCH_X86 && HWY_TARGET == HWY_SSE4
#define DL4_PART_INLINE HWY_NOINLINE
#else
#define DL4_PART_INLINE HWY_INLINE
#endif

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

// Loads n floats, fewer than a vector of d, zero padded.
template <class DX>
DL4_PART_INLINE hn::Vec<DX> load_n(DX d, const float *p, int64_t n) {
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
DL4_PART_INLINE void store_n(DX d, hn::Vec<DX> v, float *p, int64_t n) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  HWY_ALIGN float buffer[hn::MaxLanes(DX())];
  hn::Store(v, d, buffer);
  std::memcpy(p, buffer, static_cast<size_t>(n) * sizeof(float));
#endif
}
HWY_INLINE void store_n(V v, float *p, int64_t n) { store_n(D(), v, p, n); }

// Loads the first n floats of a vector, or all, for several addresses with the same n; zero padded, n may be 0.
template <class DX>
struct FirstOf {
  int64_t n;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  hn::Mask<DX> mask;
  HWY_INLINE hn::Vec<DX> get(DX d, const float *p) const { return hn::MaskedLoad(mask, d, p); }
#else
  HWY_INLINE hn::Vec<DX> get(DX d, const float *p) const {
    return n >= static_cast<int64_t>(hn::MaxLanes(d)) ? hn::LoadU(d, p) : load_n(d, p, n);
  }
#endif
  // Avoids the mask if possible, since later loads would wait for a masked store.
  HWY_INLINE void put(DX d, hn::Vec<DX> v, float *p) const {
    const hn::Half<DX> half;
    if (n >= static_cast<int64_t>(hn::MaxLanes(d)))
      hn::StoreU(v, d, p);
    else if (n == static_cast<int64_t>(hn::MaxLanes(half)))
      hn::StoreU(hn::LowerHalf(half, v), half, p);
    else
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
      hn::BlendedStore(v, mask, d, p);
#else
      store_n(d, v, p, n);
#endif
  }
};
// n is below 2^31; negative n counts as 0.
template <class DX>
HWY_INLINE FirstOf<DX> first_of([[maybe_unused]] DX d, int64_t n) {
  n = HWY_MAX(n, 0);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return {n, hn::FirstN(d, static_cast<size_t>(n))};
#else
  return {n};
#endif
}

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

// How a loop body reads and writes: a full vector, or its first m floats.
struct Full {
  HWY_INLINE V get(const float *p) const { return load(p); }
  HWY_INLINE void put(V v, float *p) const { store(v, p); }
};
struct Part {
  int64_t m;
  HWY_INLINE V get(const float *p) const { return load_n(p, m); }
  HWY_INLINE void put(V v, float *p) const { store_n(v, p, m); }
};

// Calls f(i, Full or Part) for every vector of n floats.
template <class F>
HWY_INLINE void each(int64_t n, const F &f) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, Full());
  if (i < n) f(i, Part{n - i});
}

// Maximum or minimum; NaN if either is NaN.
template <class VX>
HWY_INLINE VX max_nan(VX a, VX b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}
template <class VX>
HWY_INLINE VX min_nan(VX a, VX b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}

// Reduces all lanes by f in a fixed tree, half with half, so that the order does not depend on Highway.
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
