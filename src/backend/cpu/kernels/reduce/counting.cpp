// Buckets, top k and hardmax of rows, and tests for finite values.
#include "backend/cpu/kernels/reduce/counting.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/kernels/reduce/reduce.hpp"

namespace dl4::kernels {

void bucketize(const float *x, int64_t n, const float *bounds, int64_t count, int32_t *y) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int32_t>(std::lower_bound(bounds, bounds + count, x[i]) - bounds);
}

void bucket_sums(const int32_t *buckets, const float *weights, int64_t n, double *sums, float *y,
                 int64_t count) noexcept {
  std::fill_n(sums, count, 0.0);
  for (int64_t i = 0; i < n; ++i)
    if (buckets[i] >= 0 && buckets[i] < count) sums[buckets[i]] += weights ? static_cast<double>(weights[i]) : 1;
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(sums[i]);
}

void top_k(const float *x, uint8_t *among, int64_t rows, int64_t width, int64_t k) noexcept {
  for (int64_t row = 0; row < rows; ++row, x += width, among += width) {
    std::memset(among, 0, static_cast<size_t>(width));
    for (int64_t i = 0; i < k; ++i) {
      int64_t best = -1;
      for (int64_t j = 0; j < width; ++j)
        if (!among[j] && (best < 0 || x[j] > x[best])) best = j;
      among[best] = 1;
    }
  }
}

void hardmax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  const int64_t row = axis * inner;
  for (int64_t i = 0; i < outer; ++i, x += row, y += row) {
    std::memset(y, 0, static_cast<size_t>(row) * sizeof(float));
    for (int64_t j = 0; j < inner; ++j) {
      int64_t most = 0;
      for (int64_t k = 1; k < axis; ++k)
        if (x[k * inner + j] > x[most * inner + j]) most = k;
      y[most * inner + j] = 1;
    }
  }
}

int64_t finite_from(const float *x, int64_t n) noexcept {
  if (all_finite(x, n)) return n;
  int64_t i = 0;
  while (std::isfinite(x[i])) ++i;
  return i;
}

}  // namespace dl4::kernels
