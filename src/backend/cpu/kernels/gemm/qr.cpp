// Householder QR, by columns.
#include "backend/cpu/kernels/gemm/qr.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm/qr.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// Products are summed in eight parts whatever the vectors are, and none is fused: the same bits on every processor.
constexpr int64_t parts = 8;
using Dd = hn::CappedTag<double, parts>;
using Vd = hn::Vec<Dd>;
constexpr int64_t in_vector = hn::MaxLanes(Dd()), vectors = parts / in_vector;
constexpr int together = in_vector == parts ? 8 : 4;  // columns, whose sums stay in registers

struct Sums {
  Vd part[vectors];
  HWY_INLINE Sums() {
    DL4_UNROLL
    for (auto &p : part) p = hn::Zero(Dd());
  }
  HWY_INLINE double all(double rest) const {
    double each[parts];
    for (int64_t v = 0; v < vectors; ++v) hn::StoreU(part[v], Dd(), each + v * in_vector);
    for (double p : each) rest += p;
    return rest;
  }
};

double dot(const double *a, const double *b, int64_t n) {
  Sums sums;
  int64_t i = 0;
  for (; i + parts <= n; i += parts) {
    DL4_UNROLL
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t at = i + v * in_vector;
      sums.part[v] = hn::Add(sums.part[v], hn::Mul(hn::LoadU(Dd(), a + at), hn::LoadU(Dd(), b + at)));
    }
  }
  double rest = 0;
  for (; i < n; ++i) rest += a[i] * b[i];
  return sums.all(rest);
}

// Columns x[c] -= f[c] v, from row `begin` on; then f[c] = u . x[c], from row `next` on, which is begin or one off it.
template <int columns>
void reflect_and_dot(const double *v, const double *u, double *const *x, double *f, int64_t begin, int64_t next,
                     int64_t m) {
  Vd by[columns];
  Sums sums[columns];
  double rest[columns] = {};
  int64_t i = next;
  // Rows before the sums begin, and with them the rows of the first part that v has not.
  const int64_t whole = next < begin ? std::min(next + parts, m) : next;
  for (int c = 0; c < columns; ++c) {
    for (int64_t r = begin; r < std::max(whole, next); ++r) x[c][r] -= f[c] * v[r];
    by[c] = hn::Set(Dd(), f[c]);
  }
  const auto add = [&](int64_t at, int64_t part, bool changes) HWY_ATTR {
    const Vd vs = hn::LoadU(Dd(), v + at), us = hn::LoadU(Dd(), u + at);
    DL4_UNROLL
    for (int c = 0; c < columns; ++c) {
      Vd xs = hn::LoadU(Dd(), x[c] + at);
      if (changes) {
        xs = hn::Sub(xs, hn::Mul(by[c], vs));
        hn::StoreU(xs, Dd(), x[c] + at);
      }
      sums[c].part[part] = hn::Add(sums[c].part[part], hn::Mul(us, xs));
    }
  };
  if (whole == next + parts) {
    DL4_UNROLL
    for (int64_t p = 0; p < vectors; ++p) add(i + p * in_vector, p, false);
    i += parts;
  }
  for (; i + parts <= m; i += parts) {
    DL4_UNROLL
    for (int64_t p = 0; p < vectors; ++p) add(i + p * in_vector, p, true);
  }
  for (int c = 0; c < columns; ++c) {
    for (int64_t r = i; r < m; ++r) {
      if (r >= whole) x[c][r] -= f[c] * v[r];
      rest[c] += u[r] * x[c][r];
    }
    f[c] = sums[c].all(rest[c]);
  }
}

// The reflections by column k of v, which begins at row k and is scaled by tau[k], for k from `first` by `step` until
// `last`, of columns of m numbers at x.
template <int columns>
void reflect_columns(const double *v, const double *tau, int64_t first, int64_t last, int64_t step, double *x,
                     int64_t m) {
  double *at[columns], f[columns];
  for (int c = 0; c < columns; ++c) {
    at[c] = x + c * m;
    f[c] = dot(v + first * m + first, at[c] + first, m - first);
  }
  for (int64_t k = first; k != last; k += step) {
    for (double &one : f) one *= tau[k];
    if (k + step != last) {
      reflect_and_dot<columns>(v + k * m, v + (k + step) * m, at, f, k, k + step, m);
    } else {
      for (int c = 0; c < columns; ++c)
        for (int64_t r = k; r < m; ++r) at[c][r] -= f[c] * v[k * m + r];
    }
  }
}

}  // namespace

void reflect_all(const double *v, const double *tau, int64_t first, int64_t last, int64_t step, double *x, int64_t m,
                 int64_t columns) {
  if (first == last) return;
  for (; columns >= together; columns -= together, x += together * m)
    reflect_columns<together>(v, tau, first, last, step, x, m);
  for (; columns > 0; --columns, x += m) reflect_columns<1>(v, tau, first, last, step, x, m);
}

double dot_all(const double *a, const double *b, int64_t n) { return dot(a, b, n); }

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(reflect_all);
HWY_EXPORT(dot_all);

namespace {
constexpr int64_t panel = 16;  // columns that stay in cache while reflections are applied to them
}

void orthonormal(const float *a, int64_t m, int64_t n, double *q) {
  std::vector<double> tau(static_cast<size_t>(n)), sign(static_cast<size_t>(n), 1.0);
  const auto dot = [](const double *x, const double *y, int64_t size) {
    return HWY_DYNAMIC_DISPATCH(dot_all)(x, y, size);
  };
  // By the columns of v, from `first` by `step` until `last`, of columns [begin, end) of q.
  const auto reflect = [&](const double *v, int64_t first, int64_t last, int64_t step, int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(reflect_all)(v, tau.data(), first, last, step, q + begin * m, m, end - begin);
  };
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) q[j * m + i] = static_cast<double>(a[i * n + j]);
  for (int64_t begin = 0; begin < n; begin += panel) {
    const int64_t end = std::min(begin + panel, n);
    reflect(q, 0, begin, 1, begin, end);
    for (int64_t k = begin; k < end; ++k) {
      double *x = q + k * m + k;
      const double norm = std::sqrt(dot(x, x, m - k));
      const auto at = static_cast<size_t>(k);
      if (!(norm > 0)) continue;
      // The head moves away from 0, so nothing cancels; the diagonal of r gets the opposite sign.
      sign[at] = x[0] < 0 ? 1 : -1;
      x[0] -= sign[at] * norm;
      tau[at] = 2 / dot(x, x, m - k);
      reflect(q, k, k + 1, 1, k + 1, end);
    }
  }
  // From the last panel to the first, so that Q takes the place of the reflections that it no longer needs.
  std::vector<double> own(static_cast<size_t>(std::min(panel, n) * m));
  for (int64_t begin = (n - 1) / panel * panel; begin >= 0; begin -= panel) {
    const int64_t end = std::min(begin + panel, n);
    std::copy(q + begin * m, q + end * m, own.begin());
    for (int64_t j = begin; j < end; ++j)
      for (int64_t i = 0; i < m; ++i) q[j * m + i] = i == j ? 1 : 0;
    for (int64_t k = end - 1; k >= begin; --k) reflect(own.data() - begin * m, k, k - 1, -1, k, end);
    reflect(q, begin - 1, -1, -1, begin, end);
  }
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) q[j * m + i] *= sign[static_cast<size_t>(j)];
}

}  // namespace dl4::kernels
#endif
