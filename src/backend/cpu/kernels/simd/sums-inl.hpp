// Long sums with errors as small as those of short ones.
#if defined(DL4_KERNELS_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_SUMS_INL
#undef DL4_KERNELS_SUMS_INL
#else
#define DL4_KERNELS_SUMS_INL
#endif

#include <type_traits>

#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// Sums along memory use the order of vectors of 16 floats on every instruction set, so their bits are the same on every
// processor.
inline constexpr int64_t wide = 16;
inline constexpr int parts = static_cast<int>(wide / lanes);
static_assert(wide % lanes == 0);

struct Wide {
  V v[parts];
};
HWY_INLINE Wide wide_zero() {
  Wide w{};
  DL4_UNROLL
  for (int p = 0; p < parts; ++p) w.v[p] = hn::Zero(D());
  return w;
}
// Sum of all 16, half with half.
HWY_INLINE float sum_wide(Wide w) {
  DL4_UNROLL
  for (int half = parts / 2; half > 0; half /= 2)
    for (int p = 0; p < half; ++p) w.v[p] = hn::Add(w.v[p], w.v[p + half]);
  return sum_lanes(w.v[0]);
}
// w.v[p] = f(w.v[p], i + p * lanes, Full or Part) for 16 elements from i, or for `left` of them.
template <class F>
HWY_INLINE void wide_step(Wide &w, int64_t i, const F &f) {
  DL4_UNROLL
  for (int p = 0; p < parts; ++p) w.v[p] = f(w.v[p], i + p * lanes, Full());
}
template <class F>
HWY_INLINE void wide_rest(Wide &w, int64_t i, int64_t left, const F &f) {
  for (int p = 0; p < parts; ++p) {
    const int64_t m = left - p * lanes;
    if (m >= lanes)
      w.v[p] = f(w.v[p], i + p * lanes, Full());
    else if (m > 0)
      w.v[p] = f(w.v[p], i + p * lanes, Part{m});
  }
}

// Sum of f(i, Full or Part) over n floats: short blocks in float, their sums in double.
template <class F>
HWY_INLINE double row_sum(int64_t n, const F &f) {
  constexpr int64_t block = 128 * wide;
  double total = 0;
  const auto add = [&](V sum, int64_t i, auto s) HWY_ATTR {
    if constexpr (std::is_same_v<decltype(s), Part>)
      return hn::Add(sum, hn::IfThenElseZero(hn::FirstN(D(), static_cast<size_t>(s.m)), f(i, s)));
    else
      return hn::Add(sum, f(i, s));
  };
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t end = HWY_MIN(n, begin + block);
    Wide a = wide_zero(), b = a, c = a, d = a;
    int64_t i = begin;
    for (; i + 4 * wide <= end; i += 4 * wide) {
      wide_step(a, i, add);
      wide_step(b, i + wide, add);
      wide_step(c, i + 2 * wide, add);
      wide_step(d, i + 3 * wide, add);
    }
    for (; i + wide <= end; i += wide) wide_step(a, i, add);
    if (i < end) wide_rest(b, i, end - i, add);
    DL4_UNROLL
    for (int p = 0; p < parts; ++p) a.v[p] = hn::Add(hn::Add(a.v[p], b.v[p]), hn::Add(c.v[p], d.v[p]));
    total += static_cast<double>(sum_wide(a));
  }
  return total;
}

// Adjacent vectors. An aggregate: gcc compiles implicit constructors for no instruction set, and arm64's vectors have
// one.
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

// Pairwise sum of `rows` rows from `first`, down to 64 rows, which few(first, rows) adds up.
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
