// Long sums, whose errors stay as small as those of short ones.
#if defined(DL4_KERNELS_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_SUMS_INL
#undef DL4_KERNELS_SUMS_INL
#else
#define DL4_KERNELS_SUMS_INL
#endif

#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// Of f(i, Full or Part) over n floats: short blocks in float, their sums in double.
template <class F>
HWY_INLINE double row_sum(int64_t n, const F &f) {
  constexpr int64_t block = 128 * lanes;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t end = HWY_MIN(n, begin + block);
    V a = hn::Zero(D()), b = a, c = a, d = a;
    int64_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      a = hn::Add(a, f(i, Full()));
      b = hn::Add(b, f(i + lanes, Full()));
      c = hn::Add(c, f(i + 2 * lanes, Full()));
      d = hn::Add(d, f(i + 3 * lanes, Full()));
    }
    for (; i + lanes <= end; i += lanes) a = hn::Add(a, f(i, Full()));
    if (const int64_t m = end - i; m > 0)
      b = hn::Add(b, hn::IfThenElseZero(hn::FirstN(D(), static_cast<size_t>(m)), f(i, Part{m})));
    total += static_cast<double>(sum_lanes(hn::Add(hn::Add(a, b), hn::Add(c, d))));
  }
  return total;
}

// Vectors side by side. Made with braces: gcc compiles an implicit constructor for no instruction set, and arm64's
// vectors have one.
template <int K>
struct Strip {
  V v[K];
};
template <int K>
HWY_INLINE Strip<K> zeros() {
  Strip<K> s{};
  for (int k = 0; k < K; ++k) s.v[k] = hn::Zero(D());
  return s;
}

// Of `rows` rows from `first` on: halves of halves down to 64 rows, which few(first, rows) adds up.
template <int K, class F>
Strip<K> by_halves(int64_t first, int64_t rows, const F &few) {
  if (rows <= 64) return few(first, rows);
  const int64_t half = (rows / 2 + 63) / 64 * 64;
  Strip<K> a = by_halves<K>(first, half, few);
  const Strip<K> b = by_halves<K>(first + half, rows - half, few);
  for (int k = 0; k < K; ++k) a.v[k] = hn::Add(a.v[k], b.v[k]);
  return a;
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
