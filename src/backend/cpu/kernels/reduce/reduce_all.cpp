// Whole-array sums and tests, and reductions of booleans and to indices.
#include "backend/cpu/kernels/reduce/reduce.hpp"

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce/reduce_all.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// In double, with 16 running sums for every instruction set.
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

int64_t row_largest(const float *x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] != x[i]) return i;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

template <class T>
void largest(const float *x, T *y, int64_t outer, int64_t axis, int64_t inner) {
  for (int64_t o = 0; o < outer; ++o, x += axis * inner)
    for (int64_t i = 0; i < inner; ++i, ++y) {
      if (inner == 1) {
        *y = static_cast<T>(row_largest(x, axis));
        continue;
      }
      int64_t b = 0;
      for (int64_t a = 0; a < axis; ++a) {
        const float v = x[a * inner + i], w = x[b * inner + i];
        if (w != w) break;
        if (v > w || v != v) b = a;
      }
      *y = static_cast<T>(b);
    }
}

}  // namespace

double sum_squares_all(const float *x, int64_t n) {
  return total(n, [x](int64_t i) HWY_ATTR { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
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

void argmax_all(const float *x, DType to, void *y, int64_t outer, int64_t axis, int64_t inner) {
  if (to == DType::i32)
    largest(x, static_cast<int32_t *>(y), outer, axis, inner);
  else
    largest(x, static_cast<int64_t *>(y), outer, axis, inner);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(sum_squares_all);
HWY_EXPORT(finite_all);
HWY_EXPORT(bools_all);
HWY_EXPORT(argmax_all);

double sum_squares(const float *x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(sum_squares_all)(x, n); }
bool all_finite(const float *x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(finite_all)(x, n); }
void any(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(bools_all)(true, x, y, outer, axis, inner);
}
void all(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(bools_all)(false, x, y, outer, axis, inner);
}
void argmax(const float *x, DType to, void *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(argmax_all)(x, to, y, outer, axis, inner);
}

}  // namespace dl4::kernels
#endif
