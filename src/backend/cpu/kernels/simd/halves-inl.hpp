// Per instruction set: half vectors at the end of a row. Stores without a mask forward to the loads that follow; masked
// stores make them wait for the cache.
#if defined(DL4_KERNELS_HALVES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_HALVES_INL
#undef DL4_KERNELS_HALVES_INL
#else
#define DL4_KERNELS_HALVES_INL
#endif

#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// Reads and writes the first half of a vector.
struct Half {
  using DH = hn::Half<D>;
  static constexpr int64_t size = lanes / 2;
  HWY_INLINE V get(const float *p) const { return hn::ZeroExtendVector(D(), hn::LoadU(DH(), p)); }
  HWY_INLINE void put(V v, float *p) const { hn::StoreU(hn::LowerHalf(DH(), v), DH(), p); }
};

// Calls f(i, Full, Half or Part) for every vector of n floats.
template <class F>
HWY_INLINE void each_or_half(int64_t n, const F &f) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, Full());
  if (n - i == Half::size)
    f(i, Half());
  else if (i < n)
    f(i, Part{n - i});
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
