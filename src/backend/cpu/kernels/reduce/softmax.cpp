// Softmax, log-softmax, sparsemax and gradients, by instruction set.
#include "backend/cpu/kernels/reduce/softmax.hpp"

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce/softmax.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/math-inl.hpp"
#include "backend/cpu/kernels/simd/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE auto first(int64_t n) { return hn::FirstN(D(), static_cast<size_t>(n)); }

// The largest of a row is only subtracted from it: NaN needs no care here, as it reaches the sum.
HWY_INLINE V max_of(V v) {
  return set(join_lanes(D(), v, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); }));
}
HWY_INLINE V begun(V v, int64_t n) { return hn::IfThenElse(first(n), v, set(-infinity)); }

// One implementation for rows (lanes are neighbours on the axis, joined at the end) and columns (lanes are columns).
struct Columns {
  int64_t axis, row, m;  // m columns, at most a vector of them
  HWY_INLINE V get(const float *x, int64_t a) const { return m == lanes ? load(x + a * row) : load_n(x + a * row, m); }
  HWY_INLINE void put(V v, float *y, int64_t a) const {
    if (m == lanes)
      store(v, y + a * row);
    else
      store_n(v, y + a * row, m);
  }
  HWY_INLINE V max(const float *x) const {
    V r = set(-infinity);
    for (int64_t a = 0; a < axis; ++a) r = hn::Max(get(x, a), r);
    return r;
  }
  template <class F>
  HWY_INLINE V sum(const float *x, const float *x2, const F &f) const {
    const auto few = [&](int64_t begin, int64_t n) HWY_ATTR {
      Strip<1> r = zeros<1>();
      for (int64_t a = begin; a < begin + n; ++a) r.v[0] = hn::Add(r.v[0], f(get(x, a), get(x2, a)));
      return r;
    };
    return by_halves<1>(0, axis, few).v[0];
  }
  template <class F>
  HWY_INLINE void each(const float *x, const float *x2, float *y, const F &f) const {
    for (int64_t a = 0; a < axis; ++a) put(f(get(x, a), get(x2, a)), y, a);
  }
};

struct Row {
  int64_t axis;
  HWY_INLINE V max(const float *x) const {
    V r = set(-infinity), s = r;
    int64_t a = 0;
    for (; a + 2 * lanes <= axis; a += 2 * lanes) {
      r = hn::Max(load(x + a), r);
      s = hn::Max(load(x + a + lanes), s);
    }
    if (a + lanes <= axis) r = hn::Max(load(x + a), r), a += lanes;
    if (a < axis) s = hn::Max(begun(load_n(x + a, axis - a), axis - a), s);
    return max_of(hn::Max(r, s));
  }
  template <class F>
  HWY_INLINE V sum(const float *x, const float *x2, const F &f) const {
    return set(
        static_cast<float>(row_sum(axis, [&](int64_t i, auto s) HWY_ATTR { return f(s.get(x + i), s.get(x2 + i)); })));
  }
  template <class F>
  HWY_INLINE void each(const float *x, const float *x2, float *y, const F &f) const {
    map(x, x2, y, axis, f);
  }
};

// Calls body(view, offset) for every row or vector of columns.
template <class Body>
HWY_INLINE void views(int64_t outer, int64_t axis, int64_t inner, const Body &body) {
  for (int64_t o = 0; o < outer; ++o) {
    if (inner == 1) {
      body(Row{axis}, o * axis);
      continue;
    }
    for (int64_t i = 0; i < inner; i += lanes)
      body(Columns{axis, inner, HWY_MIN(lanes, inner - i)}, o * axis * inner + i);
  }
}

// y = f(x, max, e = exp(x - max), sum of e) for R rows of N vectors, which stay in registers; the last vector has
// `left` columns. Each row's reductions wait for the one before: several rows at a time fill that time. Sums are those
// of row_sum.
template <int N, int R, class F>
HWY_INLINE void rows_of_vectors(const float *x, float *y, int64_t n, int64_t left, const F &f) {
  const FirstOf<D> last = first_of(D(), left);
  V v[R][N], e[R][N], m[R], all[R];
  DL4_UNROLL
  for (int r = 0; r < R; ++r) {
    DL4_UNROLL
    for (int j = 0; j < N - 1; ++j) v[r][j] = load(x + r * n + j * lanes);
    v[r][N - 1] = begun(last.get(D(), x + r * n + (N - 1) * lanes), left);
    m[r] = v[r][N - 1];
    DL4_UNROLL
    for (int j = 0; j < N - 1; ++j) m[r] = hn::Max(v[r][j], m[r]);
  }
  DL4_UNROLL
  for (int r = 0; r < R; ++r) m[r] = max_of(m[r]);
  DL4_UNROLL
  for (int r = 0; r < R; ++r) DL4_UNROLL
  for (int j = 0; j < N; ++j) e[r][j] = exp_below_89(hn::Sub(v[r][j], m[r]));
  DL4_UNROLL
  for (int r = 0; r < R; ++r) {
    Wide sum = wide_zero();
    DL4_UNROLL
    for (int j = 0; j < N; ++j)
      sum.v[j % parts] = hn::Add(sum.v[j % parts], j < N - 1 ? e[r][j] : hn::IfThenElseZero(first(left), e[r][j]));
    all[r] = set(sum_wide(sum));
  }
  DL4_UNROLL
  for (int r = 0; r < R; ++r) {
    DL4_UNROLL
    for (int j = 0; j < N - 1; ++j) store(f(v[r][j], m[r], e[r][j], all[r]), y + r * n + j * lanes);
    last.put(D(), f(v[r][N - 1], m[r], e[r][N - 1], all[r]), y + r * n + (N - 1) * lanes);
  }
}

// The most vectors of such a row: longer ones are summed in another order.
inline constexpr int64_t short_row = HWY_MIN(4 * wide - 1, 8 * lanes);
template <int N = static_cast<int>((short_row + lanes - 1) / lanes), class F>
void short_rows(const float *x, float *y, int64_t rows, int64_t n, const F &f) {
  if constexpr (N > 1)
    if (n <= (N - 1) * lanes) return short_rows<N - 1>(x, y, rows, n, f);
  constexpr int R = HWY_MAX(1, registers / 4 / N);
  const int64_t left = n - (N - 1) * lanes;
  int64_t r = 0;
  for (; r + R <= rows; r += R) rows_of_vectors<N, R>(x + r * n, y + r * n, n, left, f);
  if constexpr (R > 1)
    for (; r < rows; ++r) rows_of_vectors<N, 1>(x + r * n, y + r * n, n, left, f);
}

// Softmax of long rows. The next row's maximum and the previous row's division fill the time in which a row waits for
// its own maximum and sum.
void long_rows(const float *x, float *y, int64_t rows, int64_t n) {
  const Row row{n};
  V max = row.max(x), sum = set(1);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const V m = max, s = sum;
    if (r + 1 < rows) max = row.max(x + n);
    sum = set(static_cast<float>(row_sum(n, [&](int64_t i, auto io) HWY_ATTR {
      const V e = exp_below_89(hn::Sub(io.get(x + i), m));
      io.put(e, y + i);
      return e;
    })));
    if (r > 0) row.each(y - n, y - n, y - n, [=](V v, V) HWY_ATTR { return hn::Div(v, s); });
  }
  if (rows > 0) row.each(y - n, y - n, y - n, [=](V v, V) HWY_ATTR { return hn::Div(v, sum); });
}

}  // namespace

void softmax_all(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) {
  if (axis == 1)  // 1, but NaN for NaN and infinities
    return map(x, y, outer * inner, [](V v) HWY_ATTR { return hn::Add(hn::Sub(v, v), set(1)); });
  if (inner == 1 && axis <= short_row)
    return short_rows(x, y, outer, axis, [](V, V, V e, V sum) HWY_ATTR { return hn::Div(e, sum); });
  if (inner == 1) return long_rows(x, y, outer, axis);
  views(outer, axis, inner, [=](auto view, int64_t at) HWY_ATTR {
    const V m = view.max(x + at);
    view.each(x + at, x + at, y + at, [=](V v, V) HWY_ATTR { return exp_below_89(hn::Sub(v, m)); });
    const V s = view.sum(y + at, y + at, [](V v, V) HWY_ATTR { return v; });
    view.each(y + at, y + at, y + at, [=](V v, V) HWY_ATTR { return hn::Div(v, s); });
  });
}

void softmax_grad_all(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) {
  views(outer, axis, inner, [=](auto view, int64_t at) HWY_ATTR {
    const V s = view.sum(dy + at, y + at, [](V d, V v) HWY_ATTR { return hn::Mul(d, v); });
    view.each(dy + at, y + at, dx + at, [=](V d, V v) HWY_ATTR { return hn::Mul(hn::Sub(d, s), v); });
  });
}

void log_softmax_all(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) {
  if (inner == 1 && axis <= short_row)
    return short_rows(x, y, outer, axis, [](V v, V m, V, V sum) HWY_ATTR { return hn::Sub(hn::Sub(v, m), log(sum)); });
  views(outer, axis, inner, [=](auto view, int64_t at) HWY_ATTR {
    const V m = view.max(x + at);
    const V s = log(view.sum(x + at, x + at, [=](V v, V) HWY_ATTR { return exp_below_89(hn::Sub(v, m)); }));
    view.each(x + at, x + at, y + at, [=](V v, V) HWY_ATTR { return hn::Sub(hn::Sub(v, m), s); });
  });
}

void log_softmax_grad_all(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) {
  views(outer, axis, inner, [=](auto view, int64_t at) HWY_ATTR {
    const V s = view.sum(dy + at, dy + at, [](V d, V) HWY_ATTR { return d; });
    view.each(dy + at, y + at, dx + at, [=](V d, V v) HWY_ATTR { return hn::NegMulAdd(exp(v), s, d); });
  });
}

void sparsemax_grad_all(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) {
  const V zero = hn::Zero(D());
  views(outer, axis, inner, [=](auto view, int64_t at) HWY_ATTR {
    // Where y is NaN, the gradient is too.
    const auto off = [=](V d, V v)
                         HWY_ATTR { return hn::IfThenElse(hn::Eq(v, zero), zero, hn::Add(d, hn::Mul(v, zero))); };
    const V s = view.sum(dy + at, y + at, off);
    const V n = view.sum(y + at, y + at, [=](V v, V) HWY_ATTR { return hn::IfThenZeroElse(hn::Eq(v, zero), set(1)); });
    const V mean = hn::Div(s, n);
    view.each(dy + at, y + at, dx + at, [=](V d, V v) HWY_ATTR {
      return hn::IfThenElse(hn::Eq(v, zero), zero, hn::Sub(hn::Add(d, hn::Mul(v, zero)), mean));
    });
  });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(softmax_all);
HWY_EXPORT(softmax_grad_all);
HWY_EXPORT(log_softmax_all);
HWY_EXPORT(log_softmax_grad_all);
HWY_EXPORT(sparsemax_grad_all);

void softmax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  if (axis > 0) HWY_DYNAMIC_DISPATCH(softmax_all)(x, y, outer, axis, inner);
}
void softmax_grad(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) noexcept {
  if (axis > 0) HWY_DYNAMIC_DISPATCH(softmax_grad_all)(dy, y, dx, outer, axis, inner);
}
void log_softmax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  if (axis > 0) HWY_DYNAMIC_DISPATCH(log_softmax_all)(x, y, outer, axis, inner);
}
void log_softmax_grad(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) noexcept {
  if (axis > 0) HWY_DYNAMIC_DISPATCH(log_softmax_grad_all)(dy, y, dx, outer, axis, inner);
}
void sparsemax_grad(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) noexcept {
  if (axis > 0) HWY_DYNAMIC_DISPATCH(sparsemax_grad_all)(dy, y, dx, outer, axis, inner);
}

void sparsemax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, float *scratch) noexcept {
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const float *a = x + o * axis * inner + i;
      float *b = y + o * axis * inner + i;
      bool nan = false;
      for (int64_t k = 0; k < axis; ++k) {
        scratch[k] = a[k * inner];
        nan |= std::isnan(scratch[k]);
      }
      // The support is the longest prefix of the sorted values whose last one still lies above the threshold.
      double tau = std::numeric_limits<double>::quiet_NaN(), sum = 0;
      if (!nan) {
        std::sort(scratch, scratch + axis, std::greater<>());
        for (int64_t k = 0; k < axis; ++k) {
          sum += static_cast<double>(scratch[k]);
          const double t = (sum - 1) / static_cast<double>(k + 1);
          if (k > 0 && static_cast<double>(scratch[k]) <= t) break;
          tau = t;
        }
      }
      for (int64_t k = 0; k < axis; ++k) {
        const double v = static_cast<double>(a[k * inner]) - tau;
        b[k * inner] = static_cast<float>(v <= 0 ? 0 : v);
      }
    }
}

}  // namespace dl4::kernels
#endif
