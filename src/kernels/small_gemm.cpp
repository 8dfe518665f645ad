// Register-blocked products, by instruction set.
#include "kernels/small_gemm.hpp"

#include <algorithm>

#include "kernels/movement.hpp"

#ifndef DL4_KERNELS_SMALL_PRODUCT
#define DL4_KERNELS_SMALL_PRODUCT
namespace dl4::kernels {
struct SmallProduct {
  int64_t m, n, k;
  const float *a;
  int64_t lda;
  const float *b;
  int64_t ldb;
  const float *d;
  int64_t ldd;
  float *c;
  int64_t ldc;
};
}  // namespace dl4::kernels
#endif

#include "kernels/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/small_gemm.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int registers = 32;
#else
inline constexpr int registers = 16;
#endif
inline constexpr int max_rows = registers == 32 ? 8 : 6;
inline constexpr int64_t panel = 32;

using Product = SmallProduct;

// M rows by N vectors of C, the last of `cols` columns; U sums each, over every U-th k, so that additions need not wait
// for each other. b may be read in whole vectors if `padded`.
template <int M, int N, int U, bool partial, bool padded>
HWY_INLINE void tile(const Product &p, const float *a, const float *b, const float *d, float *c, int64_t cols) {
  V sum[U][M][N];
  DL4_UNROLL
  for (int u = 0; u < U; ++u) DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[u][i][j] = hn::Zero(D());

  auto step = [&](int u, int64_t k) HWY_ATTR {
    V row[N];
    DL4_UNROLL
    for (int j = 0; j < N; ++j) {
      const int64_t left = cols - j * lanes;
      const float *from = b + k * p.ldb + j * lanes;
      if (!partial || padded || left >= lanes)
        row[j] = load(from);
      else
        row[j] = left > 0 ? load_n(from, left) : hn::Zero(D());
    }
    DL4_UNROLL
    for (int i = 0; i < M; ++i) {
      const V v = set(a[i * p.lda + k]);
      DL4_UNROLL
      for (int j = 0; j < N; ++j) sum[u][i][j] = hn::MulAdd(v, row[j], sum[u][i][j]);
    }
  };
  int64_t k = 0;
  for (; k + U <= p.k; k += U) {
    DL4_UNROLL
    for (int u = 0; u < U; ++u) step(u, k + u);
  }
  for (; k < p.k; ++k) step(0, k);

  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    V v = sum[0][i][j];
    DL4_UNROLL
    for (int u = 1; u < U; ++u) v = hn::Add(v, sum[u][i][j]);
    const int64_t left = cols - j * lanes;
    const float *add = d + i * p.ldd + j * lanes;
    float *to = c + i * p.ldc + j * lanes;
    if (!partial || left >= lanes) {
      if (d) v = hn::Add(v, load(add));
      store(v, to);
    } else if (left > 0) {
      if (d) v = hn::Add(v, load_n(add, left));
      store_n(v, to, left);
    }
  }
}

// Vectors side by side for M rows: as many as the registers hold, within a panel when b is one.
template <int M, bool padded>
inline constexpr int width = [] {
  const int fits = M * 4 + 5 <= registers ? 4 : 2;
  return padded ? std::min<int>(fits, panel / lanes) : fits;
}();

template <int M, bool padded>
HWY_INLINE void strip(const Product &p, const float *a, const float *b, const float *d, float *c, int64_t cols) {
  constexpr int N = width<M, padded>, U = M * N >= 6 ? 1 : M * N >= 3 ? 2 : 4;
  if (cols >= N * lanes)
    tile<M, N, U, false, padded>(p, a, b, d, c, cols);
  else if (N == 4 && cols <= lanes)
    tile<M, 1, M >= 4 ? 1 : 2, true, padded>(p, a, b, d, c, cols);
  else
    tile<M, N, U, true, padded>(p, a, b, d, c, cols);
}

template <int M>
void rows(const Product &p, int64_t m, int64_t i) {
  if constexpr (M > 1)
    if (m < M) return rows<M - 1>(p, m, i);
  const float *d = p.d ? p.d + i * p.ldd : nullptr;
  for (int64_t j = 0; j < p.n; j += width<M, false> * lanes)
    strip<M, false>(p, p.a + i * p.lda, p.b + j, d ? d + j : nullptr, p.c + i * p.ldc + j, p.n - j);
}

template <int M>
void packed_rows(const Product &p, int64_t m, int64_t i, int64_t j) {
  if constexpr (M > 1)
    if (m < M) return packed_rows<M - 1>(p, m, i, j);
  const int64_t end = HWY_MIN(p.n, j + panel);
  const float *a = p.a + i * p.lda, *b = p.b + j * p.k, *d = p.d ? p.d + i * p.ldd : nullptr;
  for (int64_t at = j; at < end; at += width<M, true> * lanes)
    strip<M, true>(p, a, b + (at - j), d ? d + at : nullptr, p.c + i * p.ldc + at, end - at);
}

// body(rows, first row) for blocks of rows as even as can be.
template <class Body>
HWY_INLINE void row_blocks(int64_t m, const Body &body) {
  const int64_t count = (m + max_rows - 1) / max_rows;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = m * i / count, end = m * (i + 1) / count;
    body(end - begin, begin);
  }
}

// One row against a B too large for the caches: whole rows of B one after the other, eight at a time.
void one_row(const Product &p) {
  constexpr int64_t chunk = 2048;
  for (int64_t begin = 0; begin < p.n; begin += chunk) {
    const int64_t n = HWY_MIN(chunk, p.n - begin);
    float *c = p.c + begin;
    if (!p.d)
      std::fill_n(c, n, 0.0f);
    else if (p.d != p.c)
      std::memcpy(c, p.d + begin, static_cast<size_t>(n) * sizeof(float));
    int64_t k = 0;
    for (; k + 8 <= p.k; k += 8) {
      V s[8];
      const float *b = p.b + k * p.ldb + begin;
      DL4_UNROLL
      for (int q = 0; q < 8; ++q) s[q] = set(p.a[k + q]);
      each(n, [&](int64_t i, auto io) HWY_ATTR {
        V even = io.get(c + i), odd = hn::Mul(s[1], io.get(b + p.ldb + i));
        even = hn::MulAdd(s[0], io.get(b + i), even);
        DL4_UNROLL
        for (int q = 2; q < 8; q += 2) {
          even = hn::MulAdd(s[q], io.get(b + q * p.ldb + i), even);
          odd = hn::MulAdd(s[q + 1], io.get(b + (q + 1) * p.ldb + i), odd);
        }
        io.put(hn::Add(even, odd), c + i);
      });
    }
    for (; k < p.k; ++k) {
      const V s = set(p.a[k]);
      const float *b = p.b + k * p.ldb + begin;
      each(n, [&](int64_t i, auto io) HWY_ATTR { io.put(hn::MulAdd(s, io.get(b + i), io.get(c + i)), c + i); });
    }
  }
}

// M x N dot products of rows of A and of B.
template <int M, int N>
HWY_INLINE void dots(const Product &p, int64_t i0, int64_t j0) {
  V sum[M][N];
  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[i][j] = hn::Zero(D());
  const float *a = p.a + i0 * p.lda, *b = p.b + j0 * p.ldb;
  each(p.k, [&](int64_t k, auto io) HWY_ATTR {
    V x[M];
    DL4_UNROLL
    for (int i = 0; i < M; ++i) x[i] = io.get(a + i * p.lda + k);
    DL4_UNROLL
    for (int j = 0; j < N; ++j) {
      const V y = io.get(b + j * p.ldb + k);
      DL4_UNROLL
      for (int i = 0; i < M; ++i) sum[i][j] = hn::MulAdd(x[i], y, sum[i][j]);
    }
  });
  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    const float s = sum_lanes(sum[i][j]);
    p.c[(i0 + i) * p.ldc + j0 + j] = p.d ? s + p.d[(i0 + i) * p.ldd + j0 + j] : s;
  }
}

template <int M>
HWY_INLINE void dot_rows(const Product &p, int64_t i) {
  int64_t j = 0;
  for (; j + 4 <= p.n; j += 4) dots<M, 4>(p, i, j);
  for (; j < p.n; ++j) dots<M, 1>(p, i, j);
}

}  // namespace

void small_all(const Product &p) {
  if (p.m == 1 && p.n >= 4 * lanes && p.n * p.k >= 16384) return one_row(p);
  row_blocks(p.m, [&](int64_t m, int64_t i) HWY_ATTR { rows<max_rows>(p, m, i); });
}

void transposed_all(const Product &p) {
  int64_t i = 0;
  for (; i + 3 <= p.m; i += 3) dot_rows<3>(p, i);
  if (p.m - i == 2) dot_rows<2>(p, i);
  if (p.m - i == 1) dot_rows<1>(p, i);
}

void packed_all(const Product &p) {
  for (int64_t j = 0; j < p.n; j += panel)
    row_blocks(p.m, [&](int64_t m, int64_t i) HWY_ATTR { packed_rows<max_rows>(p, m, i, j); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(small_all);
HWY_EXPORT(transposed_all);
HWY_EXPORT(packed_all);

void small_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                const float *d, int64_t ldd, float *c, int64_t ldc) noexcept {
  if (m > 0 && n > 0) HWY_DYNAMIC_DISPATCH(small_all)({m, n, k, a, lda, b, ldb, d, ldd, c, ldc});
}

void small_gemm_bt(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *d, int64_t ldd, float *c, int64_t ldc) noexcept {
  HWY_DYNAMIC_DISPATCH(transposed_all)({m, n, k, a, lda, b, ldb, d, ldd, c, ldc});
}

void packed_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed, const float *d,
                 int64_t ldd, float *c, int64_t ldc) noexcept {
  if (m > 0 && n > 0) HWY_DYNAMIC_DISPATCH(packed_all)({m, n, k, a, lda, packed, 32, d, ldd, c, ldc});
}

void pack_b(int64_t k, int64_t n, const float *b, int64_t ldb, bool transposed, float *packed) noexcept {
  for (int64_t j = 0; j < n; j += 32, packed += 32 * k) {
    const int64_t cols = std::min<int64_t>(32, n - j);
    if (cols < 32) std::fill_n(packed, 32 * k, 0.0f);
    const int64_t dims[2] = {k, cols}, plain[2] = {ldb, 1}, across[2] = {1, ldb}, panel[2] = {32, 1};
    copy_strided(sizeof(float), 2, dims, transposed ? b + j * ldb : b + j, transposed ? across : plain, packed, panel);
  }
}

}  // namespace dl4::kernels
#endif
