// Products by a packed B, by instruction set.
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backend/cpu/kernels/movement/movement.hpp"

#ifndef DL4_KERNELS_PANEL_PRODUCT
#define DL4_KERNELS_PANEL_PRODUCT
namespace dl4::kernels {
// A range of columns of a panel; other members as in PackedGemm.
struct PanelProduct {
  int64_t n, k, parts;
  const float *a;
  int64_t lda, part_a;
  const float *b, *d;
  int64_t ldd;
  float *c;
  int64_t ldc;
  bool relu;
  float *sums = nullptr;  // buffer for a tile's sums
};
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm/packed_gemm.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int64_t panel = packed_panel;
inline constexpr int most_rows = 12;

// A tile prefetches the part of the panel after its own, so many bytes per k. The panel arrives from memory while the
// rows share the current one; with the hardware prefetcher alone the first rows would wait.
struct Ahead {
  const char *next = nullptr;
  int64_t step = 0;
};

// Writes the sums of rows by vectors, the last with `cols` columns, like finish_tile. Out of line: the tiles' code is
// many times larger than what they share.
HWY_NOINLINE void finish_part(const PanelProduct &p, int64_t rows, int64_t vectors, const float *d, float *c,
                              int64_t cols) {
  const float *sums = p.sums;
  for (int64_t i = 0; i < rows; ++i, c += p.ldc, d = d ? d + p.ldd : nullptr)
    for (int64_t j = 0; j < vectors; ++j, sums += lanes) {
      const FirstOf<D> some = first_of(D(), cols - j * lanes);
      V v = hn::Load(D(), sums);
      if (d) v = hn::Add(v, some.get(D(), d + j * lanes));
      if (p.relu) v = relu_of(D(), v);
      some.put(D(), v, c + j * lanes);
    }
}

// A tile's loop over k: plain for small products, or prefetching and over all parts of A.
enum class Way { plain, ahead };

// M rows by N vectors of C, the last with `cols` columns. U sums each, over every U-th k, so that additions overlap.
// from_d: sums of whole vectors start with D.
template <int M, int N, int U, Way way, bool from_d = false>
HWY_INLINE void panel_tile(const PanelProduct &p, const float *a, const float *b, const float *d, float *c,
                           int64_t cols, const Ahead &ahead) {
  V sum[U][M][N];
  DL4_UNROLL
  for (int u = 0; u < U; ++u) DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[u][i][j] = from_d && d ? load(d + i * p.ldd + j * lanes) : hn::Zero(D());

  // from: a row of the panel, readable in whole vectors; of: the number of A in row i.
  auto step = [&](int u, const float *from, auto of) HWY_ATTR {
    V row[N];
    DL4_UNROLL
    for (int j = 0; j < N; ++j) row[j] = load(from + j * lanes);
    DL4_UNROLL
    for (int i = 0; i < M; ++i) {
      const V v = set(*of(i));
      DL4_UNROLL
      for (int j = 0; j < N; ++j) sum[u][i][j] = hn::MulAdd(v, row[j], sum[u][i][j]);
    }
  };
  if constexpr (way == Way::plain) {
    int64_t k = 0;
    auto at = [&](int u) HWY_ATTR { step(u, b + (k + u) * panel, [&](int i) { return a + i * p.lda + k + u; }); };
    for (; k + U <= p.k; k += U) {
      DL4_UNROLL
      for (int u = 0; u < U; ++u) at(u);
    }
    for (; k < p.k; ++k) at(0);
  } else {
    // One pointer for three rows, since an address can add a stride once or twice: all pointers stay in registers.
    constexpr int pointers = (M + 2) / 3;
    const float *rows[pointers];
    auto steps = [&](auto count) HWY_ATTR {
      constexpr int n = count;
      DL4_UNROLL
      for (int u = 0; u < n; ++u) step(u, b + u * panel, [&](int i) { return rows[i / 3] + i % 3 * p.lda + u; });
      DL4_UNROLL
      for (int i = 0; i < pointers; ++i) rows[i] += n;
      b += n * panel;
    };
    // Prefetches C for the stores at the end: loading it from memory takes longer than a tile of few k.
    DL4_UNROLL
    for (int i = 0; i < M; ++i) DL4_UNROLL
    for (int j = 0; j < N; ++j) __builtin_prefetch(c + i * p.ldc + (j + 1) * lanes - 1, 1, 2);
    const char *next = ahead.next;
    for (int64_t part = 0; part < p.parts; ++part, a += p.part_a) {
      DL4_UNROLL
      for (int i = 0; i < pointers; ++i) rows[i] = a + 3 * i * p.lda;
      int64_t k = p.k;
#pragma GCC unroll 4
      for (; k >= U; k -= U, next += U * ahead.step) {
        __builtin_prefetch(next, 0, 2);
        steps(std::integral_constant<int, U>());
      }
      for (; U > 1 && k > 0; --k) steps(std::integral_constant<int, 1>());
    }
  }

  if (from_d || cols >= N * lanes) return finish_tile<N>(p, D(), sum, from_d ? nullptr : d, c, cols, p.relu);
  if constexpr (way == Way::plain) return finish_tile < parts == 1 ? N / 2 : 0 > (p, D(), sum, d, c, cols, p.relu);
  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    V v = sum[0][i][j];
    DL4_UNROLL
    for (int u = 1; u < U; ++u) v = hn::Add(v, sum[u][i][j]);
    hn::Store(v, D(), p.sums + (i * N + j) * lanes);
  }
  finish_part(p, M, N, d, c, cols);
}

// A tile for processors with vectors of 16 floats.
template <int M, int N, Way way>
HWY_INLINE void panel_strip(const PanelProduct &p, const float *a, const float *b, const float *d, float *c,
                            int64_t cols, const Ahead &ahead) {
  if constexpr (N > 1)
    if (cols <= N / 2 * lanes) return panel_strip<M, N / 2, way>(p, a, b, d, c, cols, ahead);
  panel_tile<M, N, tile_sums<M * N>, way>(p, a, b, d, c, cols, ahead);
}

// Rows [i, i + M).
template <int M, Way way>
void panel_rows(const PanelProduct &p, int64_t i, const Ahead &ahead) {
  panel_strip<M, static_cast<int>(panel / wide), way>(p, p.a + i * p.lda, p.b, p.d ? p.d + i * p.ldd : nullptr,
                                                      p.c + i * p.ldc, p.n, ahead);
}

// The same tile in parts of at most M rows by N vectors.
template <int M, int N, int U, Way way, bool from_d>
void panel_part(const PanelProduct &p, int64_t m, int64_t i, const Ahead &ahead) {
  if constexpr (M > 1)
    if (m < M) return panel_part<M - 1, N, U, way, from_d>(p, m, i, ahead);
  for (int64_t j = 0; j < p.n; j += N * lanes) {
    const float *a = p.a + i * p.lda, *d = p.d ? p.d + i * p.ldd + j : nullptr;
    panel_tile<M, N, U, way, from_d>(p, a, p.b + j, d, p.c + i * p.ldc + j, p.n - j, ahead);
  }
}
template <int U, Way way, int N = 2, bool from_d = false>
void panel_parts(const PanelProduct &p, int64_t m, int64_t i, const Ahead &ahead) {
  constexpr int most = HWY_MIN(most_rows, (part_rows<U, N>));
  row_blocks<most>(m, [&](int64_t size, int64_t at) HWY_ATTR {
    panel_part<most, N, U, way, from_d>(p, size, i + at, at == 0 ? ahead : Ahead{});
  });
}

template <Way way, int... m>
constexpr auto all_panel_rows(std::integer_sequence<int, m...>) {
  return std::array{panel_rows<m + 1, way>...};
}
// Rows [i, i + m), m <= most_rows.
template <Way way>
HWY_INLINE void rows_of_panel(const PanelProduct &p, int64_t m, int64_t i, const Ahead &ahead) {
  if constexpr (parts == 1) {
    static constexpr auto by_rows = all_panel_rows<way>(std::make_integer_sequence<int, most_rows>());
    by_rows[static_cast<size_t>(m - 1)](p, i, ahead);
  } else {
    const int sums = sums_of(m * (p.n > wide ? 2 : 1));
    if (sums == 1) return panel_parts<1, way>(p, m, i, ahead);
    sums == 2 ? panel_parts<2, way>(p, m, i, ahead) : panel_parts<4, way>(p, m, i, ahead);
  }
}

// One row by several panels side by side: reading more of them at once loads them faster from memory. The row is summed
// in the order of k.
inline constexpr int64_t row_columns = 4 * panel, side_by_side = std::max<int64_t>(1, 8 * lanes / panel);

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
  for (int i = 0; i < each; ++i) store(p.relu ? relu_of(D(), sum[q][i]) : sum[q][i], p.c + j + q * panel + i * lanes);
}

// One row by the Q remaining panels: each number of A is read once for all. Summed like a tile of one row; the last
// panel has `cols` columns.
template <int Q>
void few_panels(const PackedGemm &p, int64_t j, int64_t cols) {
  constexpr int each = static_cast<int>(panel / lanes), N = Q * each, U = 4;
  V sum[U][N];
  DL4_UNROLL
  for (int u = 0; u < U; ++u) DL4_UNROLL
  for (int i = 0; i < N; ++i) sum[u][i] = hn::Zero(D());
  const float *b = p.packed + j * p.k;
  const int64_t apart = panel * p.k;
  auto step = [&](int u, int64_t k) HWY_ATTR {
    const V v = set(p.a[k]);
    DL4_UNROLL
    for (int i = 0; i < N; ++i)
      sum[u][i] = hn::MulAdd(v, load(b + i / each * apart + k * panel + i % each * lanes), sum[u][i]);
  };
  int64_t k = 0;
  for (; k + U <= p.k; k += U) {
    DL4_UNROLL
    for (int u = 0; u < U; ++u) step(u, k + u);
  }
  for (; k < p.k; ++k) step(0, k);
  DL4_UNROLL
  for (int i = 0; i < N; ++i) {
    V v = sum[0][i];
    DL4_UNROLL
    for (int u = 1; u < U; ++u) v = hn::Add(v, sum[u][i]);
    const int64_t left = cols - i % each * lanes;
    const float *d = p.d ? p.d + j + i * lanes : nullptr;
    float *c = p.c + j + i * lanes;
    if (i < N - each || left >= lanes) {
      if (d) v = hn::Add(v, load(d));
      store(p.relu ? relu_of(D(), v) : v, c);
    } else if (left > 0) {
      if (d) v = hn::Add(v, load_n(d, left));
      store_n(p.relu ? relu_of(D(), v) : v, c, left);
    }
  }
}

// Columns from j of one row, a few panels side by side where the order of sums allows it.
int64_t one_row(const PackedGemm &p, int64_t j) {
  if constexpr (parts == 1) {
    int64_t left = p.n - j;
    if (left > 3 * panel) {
      few_panels<2>(p, j, panel);
      j += 2 * panel, left -= 2 * panel;
    }
    if (left <= panel) return j;
    left > 2 * panel ? few_panels<3>(p, j, left - 2 * panel) : few_panels<2>(p, j, left - panel);
    return p.n;
  }
  return j;
}

// All rows by one panel, in parts of k such that a part, its successor and the A they read fit the L2 cache.
void packed_panel_of(const PackedGemm &g, int64_t j, double share, float *sums) {
  constexpr int64_t most_k = 1024;
  const int64_t cuts = HWY_MAX((g.k + most_k - 1) / most_k, 1);
  const int64_t step_k = HWY_MAX(cuts == 1 ? g.k : ((g.k + cuts - 1) / cuts + 7) / 8 * 8, 1);
  const int64_t step_parts = cuts > 1 || g.parts == 1 ? 1 : HWY_MAX(most_k / HWY_MAX(g.k, 1), 1);
  const float *b = g.packed + j * g.parts * g.k, *d = g.d ? g.d + j : nullptr;
  int64_t ldd = g.ldd;
  float *const c = g.c + j;
  for (int64_t s = 0; s == 0 || s < g.parts; s += step_parts)
    for (int64_t k = 0; k == 0 || k < g.k; k += step_k) {
      PanelProduct p{HWY_MIN(g.n - j, panel),
                     HWY_MIN(step_k, g.k - k),
                     0,
                     nullptr,
                     g.lda,
                     g.part_a,
                     nullptr,
                     d,
                     ldd,
                     nullptr,
                     g.ldc,
                     g.relu && s + step_parts >= g.parts && k + step_k >= g.k,
                     sums};
      const int64_t end = HWY_MIN(g.parts, s + step_parts);
      const float *after = b + (end - s) * p.k * panel;
      const auto *next = reinterpret_cast<const char *>(after);
      const int64_t ks = (end - s) * p.k;  // for each of which a row prefetches `share` bytes
      for (int64_t group = 0; group < g.groups; ++group) {
        const int64_t from = g.used ? HWY_MAX(s, g.used[group].first) : s;
        p.parts = HWY_MAX(0, (g.used ? HWY_MIN(end, g.used[group].last) : end) - from);
        if (p.parts == 0 && d == c) continue;
        p.a = g.a + from * g.part_a + k + group * g.group_a;
        p.b = b + (from - s) * p.k * panel;
        p.c = c + group * g.group_c;
        if (d && ldd) p.d = d + group * g.group_c;
        row_blocks<most_rows>(g.m, [&](int64_t m, int64_t i) HWY_ATTR {
          const auto first = static_cast<int64_t>(share * static_cast<double>(group * g.m + i));
          rows_of_panel<Way::ahead>(p, m, i, {next + ks * first, static_cast<int64_t>(share * static_cast<double>(m))});
        });
      }
      b = after, d = c, ldd = g.ldc;
    }
}

HWY_NOINLINE void part_of_panel(const PackedGemm &g, int64_t j, double share) {
  HWY_ALIGN float sums[most_rows * panel];
  packed_panel_of(g, j, share, sums);
}

// Sums each row in the same order as alone.
void packed_by_row(const PackedGemm &g) {
  const int64_t in_order = HWY_MIN(g.n, HWY_MAX(0, g.by_row / row_columns * row_columns - g.column));
  int64_t j = 0;
  const auto panel_at = [&]() HWY_ATTR {
    return PanelProduct{HWY_MIN(g.n - j, panel), g.k,   1,       g.a,   g.lda, 0, g.packed + j * g.k,
                        g.d ? g.d + j : nullptr, g.ldd, g.c + j, g.ldc, g.relu};
  };
  if (g.m == 1)
    for (; j + side_by_side * panel <= in_order; j += side_by_side * panel) row_of_panels(g, j);
  for (; j < in_order; j += panel) panel_parts<1, Way::plain, 2, true>(panel_at(), g.m, 0, {});
  if (g.m == 1) j = one_row(g, j);
  for (; j < g.n; j += panel) {
    const PanelProduct p = panel_at();
    if (p.n <= lanes)
      panel_parts<4, Way::plain, 1>(p, g.m, 0, {});
    else
      panel_parts<4, Way::plain>(p, g.m, 0, {});
  }
}

}  // namespace

void packed_all(const PackedGemm &g) {
  if (g.by_row) return packed_by_row(g);
  int64_t j = 0;
  if (g.groups == 1 && g.parts == 1 && !g.used) {
    if (g.m == 1)
      for (const int64_t end = g.n / row_columns * row_columns; j < end; j += side_by_side * panel) row_of_panels(g, j);
    if (g.m == 1) j = one_row(g, j);
    // With few rows, B is the bottleneck, which the hardware prefetches; with few k, the work at the ends of tiles is.
    if (g.m <= 8 || g.k <= 16) {
      for (; j < g.n; j += panel) {
        const PanelProduct p{HWY_MIN(g.n - j, panel), g.k,   1,       g.a,   g.lda, 0, g.packed + j * g.k,
                             g.d ? g.d + j : nullptr, g.ldd, g.c + j, g.ldc, g.relu};
        row_blocks<most_rows>(g.m, [&](int64_t m, int64_t i) HWY_ATTR { rows_of_panel<Way::plain>(p, m, i, {}); });
      }
      return;
    }
  }
  const double share = static_cast<double>(panel * sizeof(float)) / static_cast<double>(g.groups * g.m);
  for (; j + panel <= g.n; j += panel) packed_panel_of(g, j, share, nullptr);
  if (j < g.n) part_of_panel(g, j, share);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {

HWY_EXPORT(packed_all);

void packed_gemm(const PackedGemm &gemm) noexcept {
  if (gemm.m > 0 && gemm.n > 0) HWY_DYNAMIC_DISPATCH(packed_all)(gemm);
}

void packed_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed, const float *d,
                 int64_t ldd, float *c, int64_t ldc, bool relu) noexcept {
  PackedGemm g{m, n, k, a, lda, packed, d, ldd, c, ldc};
  g.relu = relu;
  packed_gemm(g);
}

namespace {

// A few rows for all panels at a time, so that b is read once, in its order.
void pack_rows(int64_t k, int64_t n, const float *b, int64_t ldb, float *packed) {
  constexpr int64_t rows = 8;
  for (int64_t i = 0; i < k; i += rows)
    for (int64_t j = 0; j < n; j += packed_panel) {
      const int64_t cols = std::min(packed_panel, n - j);
      float *to = packed + j * k + i * packed_panel;
      for (int64_t r = i; r < std::min(k, i + rows); ++r, to += packed_panel) {
        // The hardware prefetcher stops at page boundaries.
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
