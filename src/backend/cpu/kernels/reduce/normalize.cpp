// Normalisation of rows, by instruction set.
#include "backend/cpu/kernels/reduce/normalize.hpp"

#include <cmath>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce/normalize.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
void normalize_all(const float *x, const float *gamma, const float *beta, float *y, float *mean, float *by,
                   int64_t rows, int64_t n, float epsilon, bool center) {
  const auto count = static_cast<double>(n);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const auto all = [=](int64_t i, auto s) HWY_ATTR { return s.get(x + i); };
    const float middle = center ? static_cast<float>(row_sum(n, all) / count) : 0;
    const V m = set(middle);
    const auto squares = [=](int64_t i, auto s) HWY_ATTR {
      const V apart = hn::Sub(s.get(x + i), m);
      return hn::Mul(apart, apart);
    };
    const float factor = 1 / std::sqrt(static_cast<float>(row_sum(n, squares) / count) + epsilon);
    const V scale = set(factor);
    if (mean) mean[r] = middle;
    if (by) by[r] = factor;
    each(n, [=](int64_t i, auto s) HWY_ATTR {
      V v = hn::Mul(hn::Sub(s.get(x + i), m), scale);
      if (gamma) v = hn::Mul(v, s.get(gamma + i));
      if (beta) v = hn::Add(v, s.get(beta + i));
      s.put(v, y + i);
    });
  }
}

void normalize_grad_all(const float *dy, const float *x, const float *mean, const float *by, const float *gamma,
                        float *dx, float *scaled, int64_t rows, int64_t n, bool center) {
  const auto count = static_cast<double>(n);
  for (int64_t r = 0; r < rows; ++r, dy += n, x += n) {
    const V m = set(mean[r]), scale = set(by[r]);
    // The normalised row before gamma, and its gradient.
    const auto was = [=](int64_t i, auto s) HWY_ATTR { return hn::Mul(hn::Sub(s.get(x + i), m), scale); };
    const auto diff = [=](int64_t i, auto s) HWY_ATTR {
      const V d = s.get(dy + i);
      return gamma ? hn::Mul(d, s.get(gamma + i)) : d;
    };
    const double sum = center ? row_sum(n, diff) / count : 0;
    const double along = row_sum(n, [=](int64_t i, auto s) HWY_ATTR { return hn::Mul(diff(i, s), was(i, s)); });
    const V shift = set(static_cast<float>(sum)), lean = set(static_cast<float>(along / count));
    each(n, [=](int64_t i, auto s) HWY_ATTR {
      const V y = was(i, s), d = diff(i, s), p = hn::Mul(s.get(dy + i), y);
      if (dx) s.put(hn::Mul(hn::Sub(hn::Sub(d, shift), hn::Mul(y, lean)), scale), dx + i);
      if (scaled) s.put(p, scaled + i);
    });
    if (dx) dx += n;
    if (scaled) scaled += n;
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(normalize_all);
HWY_EXPORT(normalize_grad_all);

void normalize(const float *x, const float *gamma, const float *beta, float *y, float *mean, float *by, int64_t rows,
               int64_t n, float epsilon, bool center) noexcept {
  HWY_DYNAMIC_DISPATCH(normalize_all)(x, gamma, beta, y, mean, by, rows, n, epsilon, center);
}
void normalize_grad(const float *dy, const float *x, const float *mean, const float *by, const float *gamma, float *dx,
                    float *scaled, int64_t rows, int64_t n, bool center) noexcept {
  HWY_DYNAMIC_DISPATCH(normalize_grad_all)(dy, x, mean, by, gamma, dx, scaled, rows, n, center);
}

}  // namespace dl4::kernels
#endif
