// Householder QR, by columns.
#include "backend/cpu/kernels/gemm/qr.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace dl4::kernels {
namespace {

constexpr int64_t lanes = 8;   // partial sums, so that additions overlap
constexpr int64_t panel = 16;  // columns that stay in cache while reflections are applied to them

double dot(const double *a, const double *b, int64_t n) {
  std::array<double, lanes> s{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int64_t l = 0; l < lanes; ++l) s[static_cast<size_t>(l)] += a[i + l] * b[i + l];
  double sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (double v : s) sum += v;
  return sum;
}

// x -= tau (v . x) v.
void reflect(const double *v, double tau, double *x, int64_t n) {
  double f = tau * dot(v, x, n);
  for (int64_t i = 0; i < n; ++i) x[i] -= f * v[i];
}

}  // namespace

void orthonormal(const float *a, int64_t m, int64_t n, double *q) {
  std::vector<double> tau(static_cast<size_t>(n)), sign(static_cast<size_t>(n), 1.0);
  // The reflection by v, which begins at row k, of columns [begin, end).
  const auto apply = [&](int64_t k, const double *v, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) reflect(v, tau[static_cast<size_t>(k)], q + j * m + k, m - k);
  };
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) q[j * m + i] = static_cast<double>(a[i * n + j]);
  for (int64_t begin = 0; begin < n; begin += panel) {
    const int64_t end = std::min(begin + panel, n);
    for (int64_t k = 0; k < begin; ++k) apply(k, q + k * m + k, begin, end);
    for (int64_t k = begin; k < end; ++k) {
      double *x = q + k * m + k;
      const double norm = std::sqrt(dot(x, x, m - k));
      const auto at = static_cast<size_t>(k);
      if (!(norm > 0)) continue;
      // The head moves away from 0, so nothing cancels; the diagonal of r gets the opposite sign.
      sign[at] = x[0] < 0 ? 1 : -1;
      x[0] -= sign[at] * norm;
      tau[at] = 2 / dot(x, x, m - k);
      apply(k, x, k + 1, end);
    }
  }
  // From the last panel to the first, so that Q takes the place of the reflections that it no longer needs.
  std::vector<double> own(static_cast<size_t>(std::min(panel, n) * m));
  for (int64_t begin = (n - 1) / panel * panel; begin >= 0; begin -= panel) {
    const int64_t end = std::min(begin + panel, n);
    std::copy(q + begin * m, q + end * m, own.begin());
    for (int64_t j = begin; j < end; ++j)
      for (int64_t i = 0; i < m; ++i) q[j * m + i] = i == j ? 1 : 0;
    for (int64_t k = end - 1; k >= 0; --k)
      apply(k, (k < begin ? q + k * m : own.data() + (k - begin) * m) + k, std::max(begin, k), end);
  }
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) q[j * m + i] *= sign[static_cast<size_t>(j)];
}

}  // namespace dl4::kernels
