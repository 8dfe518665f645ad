// Whole-array sums and tests, and reductions of booleans and to indices.
#include <limits>

#include "kernels/reduce.hpp"

#include "kernels/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_all.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// In double, over 16 running sums whatever the instruction set.
template <class F>
HWY_INLINE double total(int64_t n, const F &f) {
  double s[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int64_t j = 0; j < 16; ++j) s[j] += f(i + j);
  for (int64_t j = 0; i < n; ++i, ++j) s[j] += f(i);
  for (int64_t half = 8; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j) s[j] += s[j + half];
  return s[0];
}

template <bool largest>
int64_t row_best(const float *x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] != x[i]) return i;
    if (largest ? x[i] > x[best] : x[i] < x[best]) best = i;
  }
  return best;
}

template <bool largest, class T>
void best(const float *x, T *y, int64_t outer, int64_t axis, int64_t inner) {
  for (int64_t o = 0; o < outer; ++o, x += axis * inner)
    for (int64_t i = 0; i < inner; ++i, ++y) {
      if (inner == 1) {
        *y = static_cast<T>(row_best<largest>(x, axis));
        continue;
      }
      int64_t b = 0;
      for (int64_t a = 0; a < axis; ++a) {
        const float v = x[a * inner + i], w = x[b * inner + i];
        if (w != w) break;
        if ((largest ? v > w : v < w) || v != v) b = a;
      }
      *y = static_cast<T>(b);
    }
}

}  // namespace

double sum_all(const float *x, int64_t n) {
  return total(n, [x](int64_t i) HWY_ATTR { return static_cast<double>(x[i]); });
}
double sum_squares_all(const float *x, int64_t n) {
  return total(n, [x](int64_t i) HWY_ATTR { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
}
double dot_all(const float *a, const float *b, int64_t n) {
  return total(n, [a, b](int64_t i) HWY_ATTR { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
}

bool finite_all(const float *x, int64_t n) {
  V a = hn::Zero(D()), b = a;
  const V zero = a;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::MulAdd(load(x + i), zero, a);
    b = hn::MulAdd(load(x + i + lanes), zero, b);
  }
  for (; i + lanes <= n; i += lanes) a = hn::MulAdd(load(x + i), zero, a);
  if (i < n) b = hn::MulAdd(load_n(x + i, n - i), zero, b);
  return hn::AllTrue(D(), hn::Eq(hn::Add(a, b), zero));
}

int64_t count_all(const uint8_t *x, int64_t n) {
  int64_t c = 0;
  for (int64_t i = 0; i < n; ++i) c += x[i] != 0;
  return c;
}

void bools_all(bool any, const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) {
  for (int64_t o = 0; o < outer; ++o, y += inner) {
    for (int64_t i = 0; i < inner; ++i) y[i] = !any;
    for (int64_t a = 0; a < axis; ++a, x += inner) {
      DL4_IVDEP
      for (int64_t i = 0; i < inner; ++i) {
        const uint8_t v = x[i] != 0;
        y[i] = any ? y[i] | v : y[i] & v;
      }
    }
  }
}

void best_all(bool largest, const float *x, DType to, void *y, int64_t outer, int64_t axis, int64_t inner) {
  if (to == DType::i32) {
    auto *p = static_cast<int32_t *>(y);
    return largest ? best<true>(x, p, outer, axis, inner) : best<false>(x, p, outer, axis, inner);
  }
  auto *p = static_cast<int64_t *>(y);
  return largest ? best<true>(x, p, outer, axis, inner) : best<false>(x, p, outer, axis, inner);
}

void cumsum_all(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, bool reverse) {
  const int64_t step = reverse ? -inner : inner, first = reverse ? (axis - 1) * inner : 0;
  for (int64_t o = 0; axis > 0 && o < outer; ++o, x += axis * inner, y += axis * inner) {
    std::memmove(y + first, x + first, static_cast<size_t>(inner) * sizeof(float));
    for (int64_t a = 1, p = first + step; a < axis; ++a, p += step) {
      DL4_IVDEP
      for (int64_t i = 0; i < inner; ++i) y[p + i] = y[p - step + i] + x[p + i];
    }
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(sum_all);
HWY_EXPORT(sum_squares_all);
HWY_EXPORT(dot_all);
HWY_EXPORT(finite_all);
HWY_EXPORT(count_all);
HWY_EXPORT(bools_all);
HWY_EXPORT(best_all);
HWY_EXPORT(cumsum_all);

double sum(const float *x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(sum_all)(x, n); }
double sum_squares(const float *x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(sum_squares_all)(x, n); }
double dot(const float *a, const float *b, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(dot_all)(a, b, n); }
bool all_finite(const float *x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(finite_all)(x, n); }
int64_t count_true(const uint8_t *x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(count_all)(x, n); }
void any(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(bools_all)(true, x, y, outer, axis, inner);
}
void all(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(bools_all)(false, x, y, outer, axis, inner);
}
void argmax(const float *x, DType to, void *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(best_all)(true, x, to, y, outer, axis, inner);
}
void argmin(const float *x, DType to, void *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(best_all)(false, x, to, y, outer, axis, inner);
}
void cumsum(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, bool reverse) noexcept {
  HWY_DYNAMIC_DISPATCH(cumsum_all)(x, y, outer, axis, inner, reverse);
}

}  // namespace dl4::kernels
#endif
