// Register-blocked products, by instruction set.
#include "backend/cpu/kernels/gemm/small_gemm.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backend/cpu/kernels/movement/movement.hpp"

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

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm/small_gemm.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int max_rows = 8;

using Product = SmallProduct;

// Storage of A: plain, or [k, m].
enum class Form { plain, a_transposed };

// M rows by N vectors of C, the last with `cols` columns; if partial, they end in the second half of the vectors. U
// sums each, over every U-th k, so that additions overlap.
template <class DX, int M, int N, int U, bool partial, Form form>
HWY_INLINE void tile(const Product &p, const float *a, const float *b, const float *d, float *c, int64_t cols) {
  using VX = hn::Vec<DX>;
  const DX dx;
  constexpr int64_t vector = hn::MaxLanes(DX());
  const int64_t step_i = form == Form::a_transposed ? 1 : p.lda, step_k = form == Form::a_transposed ? p.lda : 1;
  VX sum[U][M][N];
  DL4_UNROLL
  for (int u = 0; u < U; ++u) DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[u][i][j] = hn::Zero(dx);

  constexpr int whole = partial ? N / 2 : N;
  FirstOf<DX> last[N];
  DL4_UNROLL
  for (int j = whole; j < N; ++j) last[j] = first_of(dx, cols - j * vector);
  auto step = [&](int u, int64_t k) HWY_ATTR {
    VX row[N];
    DL4_UNROLL
    for (int j = 0; j < N; ++j) {
      const float *from = b + k * p.ldb + j * vector;
      row[j] = j < whole ? hn::LoadU(dx, from) : last[j].get(dx, from);
    }
    DL4_UNROLL
    for (int i = 0; i < M; ++i) {
      const VX v = hn::Set(dx, a[i * step_i + k * step_k]);
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

  finish_tile<whole>(p, dx, sum, d, c, cols);
}

// Vectors of 16 per tile for so many rows: as many as 32 registers hold.
inline constexpr int width_of(int64_t rows) { return rows <= 6 ? 4 : 2; }

template <int M, int N, Form form>
HWY_INLINE void strip(const Product &p, const float *a, const float *b, const float *d, float *c, int64_t cols) {
  if constexpr (N > 1)
    if (cols <= N / 2 * lanes) return strip<M, N / 2, form>(p, a, b, d, c, cols);
  tile<D, M, N, tile_sums<M * N>, true, form>(p, a, b, d, c, cols);
}

template <int M, Form form>
void rows(const Product &p, int64_t m, int64_t i) {
  if constexpr (M > 1)
    if (m < M) return rows<M - 1, form>(p, m, i);
  const float *a = p.a + (form == Form::a_transposed ? i : i * p.lda), *d = p.d ? p.d + i * p.ldd : nullptr;
  constexpr int N = width_of(M);
  for (int64_t j = 0; j < p.n; j += N * lanes)
    strip<M, N, form>(p, a, p.b + j, d ? d + j : nullptr, p.c + i * p.ldc + j, p.n - j);
}

// The same in parts of at most M rows by N vectors of DX.
template <class DX, int M, int N, int U, Form form>
void part_of(const Product &p, int64_t m, int64_t i, int64_t j, int64_t cols) {
  if constexpr (M > 1)
    if (m < M) return part_of<DX, M - 1, N, U, form>(p, m, i, j, cols);
  const float *a = p.a + (form == Form::a_transposed ? i : i * p.lda), *d = p.d ? p.d + i * p.ldd + j : nullptr;
  // Masked vectors of four columns are cheap; without them, small code is worth more.
  constexpr bool masks = hn::MaxLanes(DX()) == 4;
  if (!masks && cols >= N * static_cast<int64_t>(hn::MaxLanes(DX())))
    tile<DX, M, N, U, masks, form>(p, a, p.b + j, d, p.c + i * p.ldc + j, cols);
  else
    tile<DX, M, N, U, true, form>(p, a, p.b + j, d, p.c + i * p.ldc + j, cols);
}
template <class DX, int N, int U, Form form>
void parts_of(const Product &p, int64_t m, int64_t i, int64_t j, int64_t cols) {
  constexpr int most = HWY_MIN(max_rows, (part_rows<U, N>));
  constexpr int64_t columns = N * hn::MaxLanes(DX());
  for (const int64_t end = j + cols; j < end; j += columns) {
    if constexpr (N > 1)
      if (end - j <= columns / 2) return parts_of<DX, N / 2, U, form>(p, m, i, j, end - j);
    row_blocks<most>(m, [&](int64_t size, int64_t at)
                            HWY_ATTR { part_of<DX, most, N, U, form>(p, size, i + at, j, HWY_MIN(columns, end - j)); });
  }
}
template <int U, Form form>
void parts_by_columns(const Product &p, int64_t m, int64_t i, int64_t j, int64_t cols) {
  if constexpr (lanes > 4)
    if (cols <= 4) return parts_of<hn::CappedTag<float, 4>, 1, U, form>(p, m, i, j, cols);
  cols <= lanes ? parts_of<D, 1, U, form>(p, m, i, j, cols) : parts_of<D, 2, U, form>(p, m, i, j, cols);
}
template <Form form>
void rows_in_parts(const Product &p, int64_t m, int64_t i) {
  const int64_t most = width_of(m) * wide;
  for (int64_t j = 0; j < p.n; j += most) {
    const int64_t cols = HWY_MIN(most, p.n - j);
    int64_t vectors = width_of(m);
    while (vectors > 1 && cols <= vectors / 2 * wide) vectors /= 2;
    const int sums = sums_of(m * vectors);
    if (sums == 1)
      parts_by_columns<1, form>(p, m, i, j, cols);
    else if (sums == 2)
      parts_by_columns<2, form>(p, m, i, j, cols);
    else
      parts_by_columns<4, form>(p, m, i, j, cols);
  }
}

// The same for at most one vector of DX of columns.
template <class DX, int M, Form form>
void narrow_rows(const Product &p, int64_t m, int64_t i) {
  if constexpr (M > 1)
    if (m < M) return narrow_rows<DX, M - 1, form>(p, m, i);
  constexpr int U = tile_sums<M>;
  const float *a = p.a + (form == Form::a_transposed ? i : i * p.lda), *d = p.d ? p.d + i * p.ldd : nullptr;
  tile<DX, M, 1, U, true, form>(p, a, p.b, d, p.c + i * p.ldc, p.n);
}

#if HWY_TARGET == HWY_AVX3
// Up to four columns and 4 M rows (some of the last may be missing): four rows share a vector, one block each, into
// which A's numbers are shuffled. Pays off where a vector has four blocks.
template <int M, bool partial>
void block_rows(const Product &p, const float *a, int64_t rows, const float *d, float *c) {
  const D dx;
  const hn::Half<D> half;
  const hn::Half<decltype(half)> block;
  auto join = [&](auto get) HWY_ATTR {
    return hn::Combine(dx, hn::Combine(half, get(3), get(2)), hn::Combine(half, get(1), get(0)));
  };
  V x[M], sum[4][M];
  DL4_UNROLL
  for (int q = 0; q < 4; ++q) DL4_UNROLL
  for (int i = 0; i < M; ++i) sum[q][i] = hn::Zero(dx);
  auto spread = [&](auto q, int64_t k, int u) HWY_ATTR {
    V row;
    if constexpr (partial) {
      const auto short_row = load_n(block, p.b + (k + q) * p.ldb, p.n);
      row = join([&](int) HWY_ATTR { return short_row; });
    } else {
      row = hn::LoadDup128(dx, p.b + (k + q) * p.ldb);
    }
    DL4_UNROLL
    for (int i = 0; i < M; ++i) sum[u][i] = hn::MulAdd(hn::Broadcast<q>(x[i]), row, sum[u][i]);
  };
  auto fetch = [&](auto get) HWY_ATTR {
    DL4_UNROLL
    for (int i = 0; i < M; ++i)
      x[i] = join([&](int r) HWY_ATTR { return get(a + HWY_MIN(4 * i + r, rows - 1) * p.lda); });
  };
  int64_t k = 0;
  for (; k + 4 <= p.k; k += 4) {
    fetch([&](const float *from) HWY_ATTR { return hn::LoadU(block, from + k); });
    spread(std::integral_constant<int, 0>(), k, 0);
    spread(std::integral_constant<int, 1>(), k, 1);
    spread(std::integral_constant<int, 2>(), k, 2);
    spread(std::integral_constant<int, 3>(), k, 3);
  }
  if (k < p.k) {
    fetch([&](const float *from) HWY_ATTR { return load_n(block, from + k, p.k - k); });
    spread(std::integral_constant<int, 0>(), k, 0);
    if (k + 1 < p.k) spread(std::integral_constant<int, 1>(), k, 0);
    if (k + 2 < p.k) spread(std::integral_constant<int, 2>(), k, 0);
  }
  DL4_UNROLL
  for (int i = 0; i < M; ++i) {
    const V v = hn::Add(hn::Add(hn::Add(sum[0][i], sum[1][i]), sum[2][i]), sum[3][i]);
    const auto low = hn::LowerHalf(half, v), high = hn::UpperHalf(half, v);
    const hn::Vec<decltype(block)> of[4][1][1][1] = {{{{hn::LowerHalf(block, low)}}},
                                                     {{{hn::UpperHalf(block, low)}}},
                                                     {{{hn::LowerHalf(block, high)}}},
                                                     {{{hn::UpperHalf(block, high)}}}};
    DL4_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int64_t at = 4 * i + r;
      if (at >= rows) return;
      finish_tile<!partial>(p, block, of[r], d ? d + at * p.ldd : nullptr, c + at * p.ldc, p.n);
    }
  }
}

template <int M>
void blocks(const Product &p, int64_t i) {
  const int64_t left = HWY_MIN(p.m - i, 4 * M);
  if constexpr (M > 1)
    if (left <= 4 * (M - 1)) return blocks<M - 1>(p, i);
  const float *a = p.a + i * p.lda, *d = p.d ? p.d + i * p.ldd : nullptr;
  float *c = p.c + i * p.ldc;
  p.n == 4 ? block_rows<M, false>(p, a, left, d, c) : block_rows<M, true>(p, a, left, d, c);
}
#endif

// Rows of K numbers, few enough that all of B stays in registers.
template <class DX, int K, bool partial>
void short_rows(const Product &p) {
  const DX dx;
  auto get = [&](const float *from) HWY_ATTR { return partial ? load_n(dx, from, p.n) : hn::LoadU(dx, from); };
  hn::Vec<DX> b[K];
  DL4_UNROLL
  for (int k = 0; k < K; ++k) b[k] = get(p.b + k * p.ldb);
  const auto bias = p.d ? get(p.d) : hn::Zero(dx);
  const int64_t m = p.m, n = p.n, lda = p.lda, ldc = p.ldc;
  const float *a = p.a;
  float *c = p.c;
  for (int64_t i = 0; i < m; ++i, a += lda, c += ldc) {
    auto sum = bias;
    DL4_UNROLL
    for (int k = 0; k < K; ++k) sum = hn::MulAdd(hn::Set(dx, a[k]), b[k], sum);
    if constexpr (partial)
      store_n(dx, sum, c, n);
    else
      hn::StoreU(sum, dx, c);
  }
}

inline constexpr int64_t short_k = 4;

template <class DX, int K = short_k>
void short_all(const Product &p) {
  if constexpr (K > 1)
    if (p.k < K) return short_all<DX, K - 1>(p);
  if (p.n == static_cast<int64_t>(hn::MaxLanes(DX())))
    short_rows<DX, K, false>(p);
  else
    short_rows<DX, K, true>(p);
}

// One row by a B too large for the caches: streams whole rows of B, eight at a time.
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
  Wide sum[M][N];
  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[i][j] = wide_zero();
  const float *a = p.a + i0 * p.lda, *b = p.b + j0 * p.ldb;
  const auto step = [&](int64_t k, int part, auto io) HWY_ATTR {
    V x[M];
    DL4_UNROLL
    for (int i = 0; i < M; ++i) x[i] = io.get(a + i * p.lda + k);
    DL4_UNROLL
    for (int j = 0; j < N; ++j) {
      const V y = io.get(b + j * p.ldb + k);
      DL4_UNROLL
      for (int i = 0; i < M; ++i) sum[i][j].v[part] = hn::MulAdd(x[i], y, sum[i][j].v[part]);
    }
  };
  int64_t k = 0;
  for (; k + wide <= p.k; k += wide) {
    DL4_UNROLL
    for (int part = 0; part < parts; ++part) step(k + part * lanes, part, Full());
  }
  DL4_UNROLL
  for (int part = 0; part < parts; ++part) {
    const int64_t at = k + part * lanes;
    if (p.k - at >= lanes)
      step(at, part, Full());
    else if (p.k > at)
      step(at, part, Part{p.k - at});
  }
  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    const float s = sum_wide(sum[i][j]);
    p.c[(i0 + i) * p.ldc + j0 + j] = p.d ? s + p.d[(i0 + i) * p.ldd + j0 + j] : s;
  }
}

template <int M>
HWY_INLINE void dot_rows(const Product &p, int64_t i) {
  int64_t j = 0;
  if constexpr (parts == 1) {  // otherwise there are too few registers
    for (; j + 4 <= p.n; j += 4) dots<M, 4>(p, i, j);
    if (p.n - j == 3) return dots<M, 3>(p, i, j);
  }
  if constexpr (parts <= 2)
    for (; j + 2 <= p.n; j += 2) dots<M, 2>(p, i, j);
  for (; j < p.n; ++j) dots<M, 1>(p, i, j);
}

template <Form form>
HWY_INLINE void all_rows(const Product &p) {
  row_blocks<max_rows>(p.m, [&](int64_t m, int64_t i) HWY_ATTR {
    if constexpr (parts > 1) {
      rows_in_parts<form>(p, m, i);
    } else {
      if (p.n <= 4) return narrow_rows<hn::CappedTag<float, 4>, max_rows, form>(p, m, i);
      if (p.n <= 8) return narrow_rows<hn::CappedTag<float, 8>, max_rows, form>(p, m, i);
      rows<max_rows, form>(p, m, i);
    }
  });
}

}  // namespace

void small_all(const Product &p) {
  if (p.m == 1 && p.n >= 4 * wide && p.n * p.k >= 16384) return one_row(p);
  if (p.n <= wide && p.k > 0 && p.k <= short_k && (!p.d || p.ldd == 0)) {
    for (int64_t j = 0; j < p.n; j += lanes) {
      const Product part{p.m,   HWY_MIN(lanes, p.n - j), p.k,   p.a,     p.lda, p.b + j,
                         p.ldb, p.d ? p.d + j : nullptr, p.ldd, p.c + j, p.ldc};
      if (part.n <= 4)
        short_all<hn::CappedTag<float, 4>>(part);
      else if (part.n <= 8)
        short_all<hn::CappedTag<float, 8>>(part);
      else
        short_all<D>(part);
    }
    return;
  }
  if (p.n <= 4 && p.m >= 4) {  // with four sums each
#if HWY_TARGET == HWY_AVX3
    for (int64_t i = 0; i < p.m; i += 16) blocks<4>(p, i);
#else
    parts_of<hn::CappedTag<float, 4>, 1, 4, Form::plain>(p, p.m, 0, 0, p.n);
#endif
    return;
  }
  all_rows<Form::plain>(p);
}

// In parts of k, so that what is read of A and B stays in cache and sums stay short.
void a_transposed_all(const Product &p) {
  constexpr int64_t chunk = 256;
  Product part = p;
  for (int64_t k = 0; k == 0 || k < p.k; k += chunk) {
    part.k = HWY_MIN(chunk, p.k - k);
    part.a = p.a + k * p.lda;
    part.b = p.b + k * p.ldb;
    if (k > 0) part.d = p.c, part.ldd = p.ldc;
    all_rows<Form::a_transposed>(part);
  }
}

void dot_all(const Product &p) {
  constexpr int64_t most = registers == 32 ? 6 : 3;
  int64_t i = 0;
  for (; i + most <= p.m; i += most) dot_rows<most>(p, i);
  if (p.m - i >= 4) dot_rows<4>(p, i), i += 4;
  if (p.m - i == 3) dot_rows<3>(p, i);
  if (p.m - i == 2) dot_rows<2>(p, i);
  if (p.m - i == 1) dot_rows<1>(p, i);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {
constexpr int64_t turned_floats = 4096, turned_k = 128;
}
HWY_EXPORT(small_all);
HWY_EXPORT(a_transposed_all);
HWY_EXPORT(dot_all);

void small_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                const float *d, int64_t ldd, float *c, int64_t ldc) noexcept {
  if (m <= 0 || n <= 0) return;
  if (n == 1 && ldb == 1 && k >= 16) return dot_gemm(m, n, k, a, lda, b, k, d, ldd, c, ldc);
  HWY_DYNAMIC_DISPATCH(small_all)({m, n, k, a, lda, b, ldb, d, ldd, c, ldc});
}

void small_gemm_at(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *d, int64_t ldd, float *c, int64_t ldc) noexcept {
  if (m > 0 && n > 0) HWY_DYNAMIC_DISPATCH(a_transposed_all)({m, n, k, a, lda, b, ldb, d, ldd, c, ldc});
}

void dot_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, const float *d,
              int64_t ldd, float *c, int64_t ldc) noexcept {
  HWY_DYNAMIC_DISPATCH(dot_all)({m, n, k, a, lda, b, ldb, d, ldd, c, ldc});
}

void small_gemm_bt(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *d, int64_t ldd, float *c, int64_t ldc) noexcept {
  // A column of B is stored as a row. Transposing a few columns is cheap if enough rows share them.
  if (n == 1 && k < 16) return small_gemm(m, n, k, a, lda, b, 1, d, ldd, c, ldc);
  if (m < 4 || k > turned_k) return dot_gemm(m, n, k, a, lda, b, ldb, d, ldd, c, ldc);
  alignas(64) float turned[turned_floats];
  const int64_t step = n * k <= turned_floats ? n : turned_floats / k / 16 * 16;
  for (int64_t j = 0; j < n; j += step) {
    const int64_t cols = std::min(step, n - j), dims[2] = {k, cols}, from[2] = {1, ldb}, to[2] = {cols, 1};
    copy_strided(sizeof(float), 2, dims, b + j * ldb, from, turned, to);
    small_gemm(m, cols, k, a, lda, turned, cols, d ? d + j : nullptr, ldd, c + j, ldc);
  }
}

}  // namespace dl4::kernels
#endif
