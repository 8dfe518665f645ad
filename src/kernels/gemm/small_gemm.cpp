// Register-blocked products, by instruction set.
#include "kernels/gemm/small_gemm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/movement/movement.hpp"

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
  int64_t parts = 1, part_a = 0;  // as in PackedGemm; of panels only
};
}  // namespace dl4::kernels
#endif

#include "kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/small_gemm.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int max_rows = registers == 32 ? 8 : 6, max_panel_rows = registers == 32 ? 12 : 6;
inline constexpr int64_t panel = packed_panel;

using Product = SmallProduct;

// How a tile finds what it multiplies: B as stored, B in panels that may be read in whole vectors, A stored [k, m].
enum class Form { plain, panels, a_transposed };

// What a tile reads ahead of what comes after its part of a panel, so many bytes for each k: a panel comes from memory
// while the rows share the one before, where the processor's own prefetching would have the first rows wait for it.
struct Ahead {
  const char *next = nullptr;
  int64_t step = 0;
};

// M rows by N vectors of C, the last of `cols` columns; U sums each, over every U-th k, so that additions need not wait
// for each other.
template <class DX, int M, int N, int U, bool partial, Form form>
HWY_INLINE void tile(const Product &p, const float *a, const float *b, const float *d, float *c, int64_t cols,
                     const Ahead &ahead = {}) {
  using VX = hn::Vec<DX>;
  const DX dx;
  constexpr int64_t wide = hn::MaxLanes(DX());
  const int64_t step_i = form == Form::a_transposed ? 1 : p.lda, step_k = form == Form::a_transposed ? p.lda : 1;
  const int64_t ldb = form == Form::panels ? panel : p.ldb;
  VX sum[U][M][N];
  DL4_UNROLL
  for (int u = 0; u < U; ++u) DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[u][i][j] = hn::Zero(dx);

  // A pointer for every three rows, as an address may have a step or twice that: so all stay in registers.
  constexpr int share = form == Form::a_transposed ? M : 3, pointers = (M + share - 1) / share;
  const float *rows[pointers];
  auto step = [&](int u) HWY_ATTR {
    VX row[N];
    DL4_UNROLL
    for (int j = 0; j < N; ++j) {
      const int64_t left = cols - j * wide;
      const float *from = b + u * ldb + j * wide;
      if (!partial || form == Form::panels || left >= wide)
        row[j] = hn::LoadU(dx, from);
      else
        row[j] = left > 0 ? load_n(dx, from, left) : hn::Zero(dx);
    }
    DL4_UNROLL
    for (int i = 0; i < M; ++i) {
      const VX v = hn::Set(dx, rows[i / share][i % share * step_i + u * step_k]);
      DL4_UNROLL
      for (int j = 0; j < N; ++j) sum[u][i][j] = hn::MulAdd(v, row[j], sum[u][i][j]);
    }
  };
  auto on = [&](int64_t k) HWY_ATTR {
    DL4_UNROLL
    for (int i = 0; i < pointers; ++i) rows[i] += k * step_k;
    b += k * ldb;
  };
  const char *next = ahead.next;
  for (int64_t part = 0; part < (form == Form::panels ? p.parts : 1); ++part, a += p.part_a) {
    DL4_UNROLL
    for (int i = 0; i < pointers; ++i) rows[i] = a + share * i * step_i;
    int64_t k = p.k;
    auto steps = [&] HWY_ATTR {
      DL4_UNROLL
      for (int u = 0; u < U; ++u) step(u);
      on(U);
    };
    if constexpr (form == Form::panels) {
#pragma GCC unroll 4
      for (; k >= U; k -= U, next += U * ahead.step) __builtin_prefetch(next, 0, 2), steps();
    } else {
      for (; k >= U; k -= U) steps();
    }
    for (; U > 1 && k > 0; --k) step(0), on(1);
  }

  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    VX v = sum[0][i][j];
    DL4_UNROLL
    for (int u = 1; u < U; ++u) v = hn::Add(v, sum[u][i][j]);
    const int64_t left = cols - j * wide;
    const float *add = d ? d + i * p.ldd + j * wide : nullptr;
    float *to = c + i * p.ldc + j * wide;
    if (!partial || left >= wide) {
      if (d) v = hn::Add(v, hn::LoadU(dx, add));
      hn::StoreU(v, dx, to);
    } else if (left > 0) {
      if (d) v = hn::Add(v, load_n(dx, add, left));
      store_n(dx, v, to, left);
    }
  }
}

// Vectors side by side for M rows: as many as the registers hold, within a panel when b is one.
template <int M, Form form>
inline constexpr int width = [] {
  const int fits = M * 4 + 5 <= registers ? 4 : 2;
  return form == Form::panels ? std::min<int>(fits, panel / lanes) : fits;
}();

template <int M, int N, Form form>
HWY_INLINE void strip(const Product &p, const float *a, const float *b, const float *d, float *c, int64_t cols,
                      const Ahead &ahead = {}) {
  constexpr int sums = M * N, few = form == Form::panels && 2 * sums + N < registers ? 9 : 6;
  constexpr int U = sums >= few ? 1 : sums >= 3 ? 2 : 4;
  if (cols >= N * lanes) return tile<D, M, N, U, false, form>(p, a, b, d, c, cols, ahead);
  if constexpr (N > 1)
    if (cols <= N / 2 * lanes) return strip<M, N / 2, form>(p, a, b, d, c, cols, ahead);
  tile<D, M, N, U, true, form>(p, a, b, d, c, cols, ahead);
}

template <int M, Form form>
void rows(const Product &p, int64_t m, int64_t i) {
  if constexpr (M > 1)
    if (m < M) return rows<M - 1, form>(p, m, i);
  const float *a = p.a + (form == Form::a_transposed ? i : i * p.lda), *d = p.d ? p.d + i * p.ldd : nullptr;
  constexpr int N = width<M, form>;
  for (int64_t j = 0; j < p.n; j += N * lanes)
    strip<M, N, form>(p, a, p.b + j, d ? d + j : nullptr, p.c + i * p.ldc + j, p.n - j);
}

// The same for so few columns that a vector of DX holds them.
template <class DX, int M, Form form>
void narrow_rows(const Product &p, int64_t m, int64_t i) {
  if constexpr (M > 1)
    if (m < M) return narrow_rows<DX, M - 1, form>(p, m, i);
  constexpr int U = M >= 6 ? 1 : M >= 3 ? 2 : 4;
  const float *a = p.a + (form == Form::a_transposed ? i : i * p.lda), *d = p.d ? p.d + i * p.ldd : nullptr;
  if (p.n == static_cast<int64_t>(hn::MaxLanes(DX())))
    tile<DX, M, 1, U, false, form>(p, a, p.b, d, p.c + i * p.ldc, p.n);
  else
    tile<DX, M, 1, U, true, form>(p, a, p.b, d, p.c + i * p.ldc, p.n);
}

// Rows of so few numbers, K, that the whole of B stays in registers.
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

template <int M>
void packed_rows(const Product &p, int64_t i, const Ahead &ahead) {
  constexpr int N = width<M, Form::panels>;
  for (int64_t j = 0; j < p.n; j += N * lanes)
    strip<M, N, Form::panels>(p, p.a + i * p.lda, p.b + j, p.d ? p.d + i * p.ldd + j : nullptr, p.c + i * p.ldc + j,
                              p.n - j, ahead);
}

// By the number of rows less one.
template <int... m>
constexpr auto panel_rows(std::integer_sequence<int, m...>) {
  return std::array{packed_rows<m + 1>...};
}

// One row with some panels side by side: the more of them are read at once, the faster they come from memory.
inline constexpr int64_t side_by_side = std::max<int64_t>(1, 8 * lanes / panel);

void row_of_panels(const PackedGemm &p, int64_t j) {
  constexpr int each = static_cast<int>(panel / lanes), count = static_cast<int>(side_by_side);
  V sum[count][each];
  DL4_UNROLL
  for (int q = 0; q < count; ++q) DL4_UNROLL
  for (int i = 0; i < each; ++i) sum[q][i] = p.d ? load(p.d + j + q * panel + i * lanes) : hn::Zero(D());
  const float *b = p.packed + j * p.k;
  const int64_t apart = panel * p.k;
  for (int64_t k = 0; k < p.k; ++k, b += panel) {
    const V v = set(p.a[k]);
    DL4_UNROLL
    for (int q = 0; q < count; ++q) DL4_UNROLL
    for (int i = 0; i < each; ++i) sum[q][i] = hn::MulAdd(v, load(b + q * apart + i * lanes), sum[q][i]);
  }
  DL4_UNROLL
  for (int q = 0; q < count; ++q) DL4_UNROLL
  for (int i = 0; i < each; ++i) store(sum[q][i], p.c + j + q * panel + i * lanes);
}

// body(rows, first row) for blocks of rows as even as can be.
template <int most, class Body>
HWY_INLINE void row_blocks(int64_t m, const Body &body) {
  const int64_t count = (m + most - 1) / most, even = count ? m / count : 0, longer = m - even * count;
  for (int64_t n = 0, i = 0; n < count; ++n) {
    const int64_t size = even + (n < longer);
    body(size, i);
    i += size;
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
  if (p.n - j == 3) dots<M, 3>(p, i, j);
  if (p.n - j == 2) dots<M, 2>(p, i, j);
  if (p.n - j == 1) dots<M, 1>(p, i, j);
}

template <Form form>
HWY_INLINE void all_rows(const Product &p) {
  row_blocks<max_rows>(p.m, [&](int64_t m, int64_t i) HWY_ATTR {
    if constexpr (lanes > 4)
      if (p.n <= 4) return narrow_rows<hn::CappedTag<float, 4>, max_rows, form>(p, m, i);
    if constexpr (lanes > 8)
      if (p.n <= 8) return narrow_rows<hn::CappedTag<float, 8>, max_rows, form>(p, m, i);
    rows<max_rows, form>(p, m, i);
  });
}

}  // namespace

void small_all(const Product &p) {
  if (p.m == 1 && p.n >= 4 * lanes && p.n * p.k >= 16384) return one_row(p);
  if (p.n <= lanes && p.k > 0 && p.k <= short_k && (!p.d || p.ldd == 0)) {
    if (p.n <= 4) return short_all<hn::CappedTag<float, 4>>(p);
    if (p.n <= 8) return short_all<hn::CappedTag<float, 8>>(p);
    return short_all<D>(p);
  }
  all_rows<Form::plain>(p);
}

// In parts of k that leave what is read of A and B in the cache, and keep sums short.
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
  constexpr int64_t most = registers == 32 ? 4 : 3;
  int64_t i = 0;
  for (; i + most <= p.m; i += most) dot_rows<most>(p, i);
  if (p.m - i == 3) dot_rows<3>(p, i);
  if (p.m - i == 2) dot_rows<2>(p, i);
  if (p.m - i == 1) dot_rows<1>(p, i);
}

// All rows for one panel, in parts of k that leave a part, the one after it and what is read of A in the second cache.
void packed_panel_of(const PackedGemm &g, int64_t j) {
  constexpr int64_t most_k = 1024;
  constexpr auto by_rows = panel_rows(std::make_integer_sequence<int, max_panel_rows>());
  const int64_t cuts = HWY_MAX((g.k + most_k - 1) / most_k, 1);
  const int64_t step_k = HWY_MAX(cuts == 1 ? g.k : ((g.k + cuts - 1) / cuts + 7) / 8 * 8, 1);
  const int64_t step_parts = cuts > 1 ? 1 : HWY_MAX(most_k / HWY_MAX(g.k, 1), 1), rows = g.groups * g.m;
  const float *b = g.packed + j * g.parts * g.k, *d = g.d ? g.d + j : nullptr;
  int64_t ldd = g.ldd;
  float *const c = g.c + j;
  for (int64_t s = 0; s == 0 || s < g.parts; s += step_parts)
    for (int64_t k = 0; k == 0 || k < g.k; k += step_k) {
      Product p{
          g.m,  HWY_MIN(g.n - j, panel), HWY_MIN(step_k, g.k - k), nullptr, g.lda, nullptr, panel, d, ldd, nullptr,
          g.ldc};
      p.part_a = g.part_a;
      const int64_t end = HWY_MIN(g.parts, s + step_parts);
      const float *after = b + (end - s) * p.k * panel;
      const auto *next = reinterpret_cast<const char *>(after);
      const int64_t line = panel * sizeof(float), size = (end - s) * p.k * line;
      for (int64_t group = 0; group < g.groups; ++group) {
        const int64_t from = g.used ? HWY_MAX(s, g.used[group].first) : s;
        p.parts = HWY_MAX(0, (g.used ? HWY_MIN(end, g.used[group].last) : end) - from);
        if (p.parts == 0 && d == c) continue;
        p.a = g.a + from * g.part_a + k + group * g.group_a;
        p.b = b + (from - s) * p.k * panel;
        p.c = c + group * g.group_c;
        if (d && ldd) p.d = d + group * g.group_c;
        row_blocks<max_panel_rows>(g.m, [&](int64_t m, int64_t i) HWY_ATTR {
          const int64_t row = group * g.m + i;
          by_rows[m - 1](p, i, {next + size * row / rows, line * m / rows});
        });
      }
      b = after, d = c, ldd = g.ldc;
    }
}

void packed_all(const PackedGemm &g) {
  int64_t j = 0;
  if (g.m == 1 && g.groups == 1 && g.parts == 1)
    for (; j + side_by_side * panel <= g.n; j += side_by_side * panel) row_of_panels(g, j);
  for (; j < g.n; j += panel) packed_panel_of(g, j);
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
HWY_EXPORT(packed_all);

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
  // A column of B is a row of it; a few columns at a time are soon turned when enough rows share them.
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

void packed_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed, const float *d,
                 int64_t ldd, float *c, int64_t ldc) noexcept {
  packed_gemm({m, n, k, a, lda, packed, d, ldd, c, ldc});
}

void packed_gemm(const PackedGemm &gemm) noexcept {
  if (gemm.m > 0 && gemm.n > 0) HWY_DYNAMIC_DISPATCH(packed_all)(gemm);
}

namespace {

// A few rows for all panels, not all rows for a panel: so b is read once, in its order.
void pack_rows(int64_t k, int64_t n, const float *b, int64_t ldb, float *packed) {
  constexpr int64_t rows = 8;
  for (int64_t i = 0; i < k; i += rows)
    for (int64_t j = 0; j < n; j += packed_panel) {
      const int64_t cols = std::min(packed_panel, n - j);
      float *to = packed + j * k + i * packed_panel;
      for (int64_t r = i; r < std::min(k, i + rows); ++r, to += packed_panel) {
        // The processor's own prefetching ends where a page does.
        for (int64_t line = 0; line < packed_panel; line += 16)
          __builtin_prefetch(b + std::min(k - 1, r + rows) * ldb + j + line);
        if (cols == packed_panel)
          std::memcpy(to, b + r * ldb + j, packed_panel * sizeof(float));
        else
          std::fill(std::copy_n(b + r * ldb + j, cols, to), to + packed_panel, 0.0f);
      }
    }
}

}  // namespace

void pack_b(int64_t k, int64_t n, const float *b, int64_t ldb, bool transposed, float *packed) noexcept {
  if (!transposed) return pack_rows(k, n, b, ldb, packed);
  for (int64_t j = 0; j < n; j += packed_panel, packed += packed_panel * k) {
    const int64_t cols = std::min(packed_panel, n - j);
    if (cols < packed_panel) std::fill_n(packed, packed_panel * k, 0.0f);
    const int64_t dims[2] = {k, cols}, across[2] = {1, ldb}, panel[2] = {packed_panel, 1};
    copy_strided(sizeof(float), 2, dims, b + j * ldb, across, packed, panel);
  }
}

}  // namespace dl4::kernels
#endif
