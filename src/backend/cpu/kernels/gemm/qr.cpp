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
  std::vector<double> v(static_cast<size_t>(m * n)), tau(static_cast<size_t>(n)), sign(static_cast<size_t>(n), 1.0);
  const auto apply = [&](int64_t k, double *columns, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j)
      reflect(v.data() + k * m + k, tau[static_cast<size_t>(k)], columns + j * m + k, m - k);
  };
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) v[static_cast<size_t>(j * m + i)] = a[i * n + j];
  for (int64_t begin = 0; begin < n; begin += panel) {
    const int64_t end = std::min(begin + panel, n);
    for (int64_t k = 0; k < begin; ++k) apply(k, v.data(), begin, end);
    for (int64_t k = begin; k < end; ++k) {
      double *x = v.data() + k * m + k;
      const double norm = std::sqrt(dot(x, x, m - k));
      const auto at = static_cast<size_t>(k);
      if (!(norm > 0)) continue;
      // The head moves away from 0, so nothing cancels; the diagonal of r gets the opposite sign.
      sign[at] = x[0] < 0 ? 1 : -1;
      x[0] -= sign[at] * norm;
      tau[at] = 2 / dot(x, x, m - k);
      apply(k, v.data(), k + 1, end);
    }
  }
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) q[j * m + i] = i == j ? 1 : 0;
  for (int64_t begin = 0; begin < n; begin += panel) {
    const int64_t end = std::min(begin + panel, n);
    for (int64_t k = end - 1; k >= 0; --k) apply(k, q, std::max(begin, k), end);
  }
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) q[j * m + i] *= sign[static_cast<size_t>(j)];
}

}  // namespace dl4::kernels
