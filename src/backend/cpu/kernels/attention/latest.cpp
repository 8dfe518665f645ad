// One query at a time: a dot product per key, then the weighted sum of the values.
#include "backend/cpu/kernels/attention/latest.hpp"

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention/latest.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/math-inl.hpp"
#include "backend/cpu/kernels/simd/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

void latest_scores(const LatestSizes &s, const float *q, const LatestKeys &keys, float *scores) {
  const float *k = keys.k;
  for (int64_t i = 0; i < keys.keys; ++i, k += s.k_row) {
    Wide sum = wide_zero();
    const auto add = [&](V so_far, int64_t d, auto part) HWY_ATTR {
      return hn::MulAdd(part.get(q + d), part.get(k + d), so_far);
    };
    int64_t d = 0;
    for (; d + wide <= s.depth; d += wide) wide_step(sum, d, add);
    if (d < s.depth) wide_rest(sum, d, s.depth - d, add);
    scores[i] = keys.mask && !keys.mask[i] ? -infinity : sum_wide(sum) * s.scale;
  }
}

// Replaces scores by weights and returns their sum.
float latest_weights(float *scores, int64_t n) {
  float most = -infinity;
  for (int64_t i = 0; i < n; ++i) most = scores[i] > most ? scores[i] : most;
  if (most == -infinity) {
    for (int64_t i = 0; i < n; ++i) most = std::isnan(scores[i]) ? scores[i] : most;
    if (most == -infinity) return 0;
  }
  const V least = set(most);
  map(scores, scores, n, [=](V v) HWY_ATTR { return exp_negative(hn::Sub(v, least)); });
  return static_cast<float>(row_sum(n, [=](int64_t i, auto part) HWY_ATTR { return part.get(scores + i); }));
}

// Masked values must not be touched even with weight 0: they may be NaN.
void latest_values(const LatestSizes &s, const LatestKeys &keys, const float *weights, float *y) {
  const float *v = keys.v;
  for (int64_t i = 0; i < keys.keys; ++i, v += s.v_row) {
    if (keys.mask && !keys.mask[i]) continue;
    const V p = set(weights[i]);
    each(s.width, [&](int64_t d, const auto &part)
                      HWY_ATTR { part.put(hn::MulAdd(p, part.get(v + d), part.get(y + d)), y + d); });
  }
}

void latest_scale(float *y, int64_t n, float by) {
  const V f = set(by);
  map(y, y, n, [=](V v) HWY_ATTR { return hn::Mul(v, f); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(latest_scores);
HWY_EXPORT(latest_weights);
HWY_EXPORT(latest_values);
HWY_EXPORT(latest_scale);

void attention_latest(const LatestSizes &s, const float *q, const LatestKeys (&stretches)[3], float *scores, float *y,
                      float *sum) noexcept {
  int64_t keys = 0;
  for (const LatestKeys &some : stretches) {
    if (some.keys > 0) HWY_DYNAMIC_DISPATCH(latest_scores)(s, q, some, scores + keys);
    keys += some.keys;
  }
  *sum = HWY_DYNAMIC_DISPATCH(latest_weights)(scores, keys);
  std::fill_n(y, s.width, 0.0f);
  if (*sum == 0) return;
  for (const LatestKeys &some : stretches) {
    if (some.keys > 0) HWY_DYNAMIC_DISPATCH(latest_values)(s, some, scores, y);
    scores += some.keys;
  }
  HWY_DYNAMIC_DISPATCH(latest_scale)(y, s.width, 1 / *sum);
}

}  // namespace dl4::kernels
#endif
