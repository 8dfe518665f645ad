// Sums, extremes and moments along an axis, by instruction set.
#include "backend/cpu/kernels/reduce/reduce.hpp"

#include <limits>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce/reduce.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// K vectors of columns over `rows` rows; the last vector has m columns. f(v, k): the summand.
template <int K, class F>
Strip<K> column_sum(const float *x, int64_t rows, int64_t row, int64_t m, const F &f) {
  const auto few = [&](int64_t first, int64_t n) HWY_ATTR {
    const float *p = x + first * row;
    Strip<K> s = zeros<K>();
    if (m == lanes) {
      for (int64_t r = 0; r < n; ++r, p += row)
        for (int k = 0; k < K; ++k) s.v[k] = hn::Add(s.v[k], f(load(p + k * lanes), k));
    } else {
      for (int64_t r = 0; r < n; ++r, p += row) s.v[0] = hn::Add(s.v[0], f(load_n(p, m), 0));
    }
    return s;
  };
  return by_halves<K>(0, rows, few);
}

// Calls body(constant K, first column, columns of the last vector) for every strip of columns of [.., inner].
template <class Body>
HWY_INLINE void strips(int64_t inner, const Body &body) {
  int64_t i = 0;
  const auto of = [&](auto k) HWY_ATTR {
    for (; i + k * lanes <= inner; i += k * lanes) body(k, i, lanes);
  };
  of(std::integral_constant<int, 8>());
  of(std::integral_constant<int, 4>());
  of(std::integral_constant<int, 2>());
  of(std::integral_constant<int, 1>());
  if (i < inner) body(std::integral_constant<int, 1>(), i, inner - i);
}

HWY_INLINE V read(const float *p, int64_t m) { return m == lanes ? load(p) : load_n(p, m); }
HWY_INLINE void write(V v, float *p, int64_t m) {
  if (m == lanes)
    store(v, p);
  else
    store_n(v, p, m);
}

template <class F>
void sums(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, int64_t row, float divisor,
          const F &f) {
  for (int64_t o = 0; o < outer; ++o, x += axis * row, y += row) {
    if (inner == 1 && row == 1) {
      *y = static_cast<float>(row_sum(axis, [&](int64_t i, auto s) HWY_ATTR { return f(s.get(x + i)); }) /
                              static_cast<double>(divisor));
      continue;
    }
    const V d = set(divisor);
    strips(inner, [&](auto k_, int64_t i, int64_t m) HWY_ATTR {
      constexpr int K = decltype(k_)::value;
      const Strip<K> s = column_sum<K>(x + i, axis, row, m, [&](V v, int) HWY_ATTR { return f(v); });
      for (int k = 0; k < K; ++k) write(hn::Div(s.v[k], d), y + i + k * lanes, m);
    });
  }
}

template <bool largest>
HWY_INLINE V extreme(V a, V b) {
  return largest ? max_nan(a, b) : min_nan(a, b);
}

template <bool largest>
float row_extreme(const float *x, int64_t n) {
  constexpr float start = largest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  float r = start;
  if (n >= lanes) {
    V a = set(start);
    for (int64_t i = 0; i + lanes <= n; i += lanes) a = extreme<largest>(a, load(x + i));
    a = extreme<largest>(a, load(x + n - lanes));
    HWY_ALIGN float b[lanes];
    hn::Store(a, D(), b);
    for (float v : b) r = (largest ? r > v : r < v) || r != r ? r : v;
  } else {
    for (int64_t i = 0; i < n; ++i) r = (largest ? r > x[i] : r < x[i]) || r != r ? r : x[i];
  }
  return r;
}

template <bool largest>
void extremes(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, int64_t row) {
  constexpr float start = largest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  for (int64_t o = 0; o < outer; ++o, x += axis * row, y += row) {
    if (inner == 1 && row == 1) {
      *y = row_extreme<largest>(x, axis);
      continue;
    }
    strips(inner, [&](auto k_, int64_t i, int64_t m) HWY_ATTR {
      constexpr int K = decltype(k_)::value;
      Strip<K> s{};
      for (int k = 0; k < K; ++k) s.v[k] = set(start);
      const float *p = x + i;
      for (int64_t r = 0; r < axis; ++r, p += row)
        for (int k = 0; k < K; ++k) s.v[k] = extreme<largest>(s.v[k], read(p + k * lanes, m));
      for (int k = 0; k < K; ++k) write(s.v[k], y + i + k * lanes, m);
    });
  }
}

void products(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, int64_t row) {
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      double p = 1;
      for (int64_t a = 0; a < axis; ++a) p *= static_cast<double>(x[(o * axis + a) * row + i]);
      y[o * row + i] = static_cast<float>(p);
    }
}

}  // namespace

void reduce_all(Reduce f, const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, int64_t row) {
  const auto same = [](V v) HWY_ATTR { return v; };
  const auto square = [](V v) HWY_ATTR { return hn::Mul(v, v); };
  const auto absolute = [](V v) HWY_ATTR { return hn::Abs(v); };
  switch (f) {
    case Reduce::sum:
      return sums(x, y, outer, axis, inner, row, 1, same);
    case Reduce::mean:
      return sums(x, y, outer, axis, inner, row, static_cast<float>(axis), same);
    case Reduce::sum_squares:
      return sums(x, y, outer, axis, inner, row, 1, square);
    case Reduce::sum_abs:
      return sums(x, y, outer, axis, inner, row, 1, absolute);
    case Reduce::max:
      return extremes<true>(x, y, outer, axis, inner, row);
    case Reduce::min:
      return extremes<false>(x, y, outer, axis, inner, row);
    case Reduce::prod:
      return products(x, y, outer, axis, inner, row);
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(reduce_all);

void reduce(Reduce f, const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, int64_t row) noexcept {
  HWY_DYNAMIC_DISPATCH(reduce_all)(f, x, y, outer, axis, inner, row ? row : inner);
}

}  // namespace dl4::kernels
#endif
