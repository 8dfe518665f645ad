// Products of numbers rounded to bfloat16, by instruction set.
#include "backend/cpu/kernels/gemm/bf16_gemm.hpp"

#include <array>
#include <utility>

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "base/cpu.hpp"

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm/bf16_gemm.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/bfloat16-inl.hpp"
#include "backend/cpu/kernels/gemm/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int64_t panel = packed_panel;
inline constexpr int most_vectors = 2;
inline constexpr int panel_vectors = static_cast<int>(panel / lanes);
static_assert(panel % (most_vectors * lanes) == 0);

// upper() for all numbers: NaN stays NaN.
HWY_INLINE VU rounded(V v) {
  const auto nan = hn::RebindMask(DU(), hn::IsNaN(v));
  const VU quiet = hn::And(hn::Or(hn::BitCast(DU(), v), hn::Set(DU(), 0x400000)), hn::Set(DU(), 0xFFFF0000));
  return hn::IfThenElse(nan, quiet, upper(v));
}

// How the two products of each word are added to a sum.
struct Fused {
  static constexpr int most_rows = 3;
  static HWY_INLINE void add(VI a, VI b, V &sum) {
    const VI upper = hn::Set(DI(), static_cast<int32_t>(0xFFFF0000));
    sum = hn::MulAdd(hn::BitCast(D(), hn::And(a, upper)), hn::BitCast(D(), hn::And(b, upper)), sum);
    sum = hn::MulAdd(hn::BitCast(D(), hn::ShiftLeft<16>(a)), hn::BitCast(D(), hn::ShiftLeft<16>(b)), sum);
  }
};
#if HWY_TARGET == HWY_AVX3
// The instruction of AVX512_BF16, for which Highway 1.0 has no function.
struct Pairs {
  static constexpr int most_rows = 12;
  static HWY_INLINE void add(VI a, VI b, V &sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  }
};
#endif

// Which rows a tile multiplies: a group and a range of its parts.
struct Rows {
  int64_t group = 0;
  PackedGemm::Range parts;
};

// Writes sums of rows by so many vectors, of which C has `cols` columns. Out of line: the tiles' code is many times
// larger than what they share.
HWY_NOINLINE void finish(const Bf16Gemm &p, const float *sums, int64_t rows, int64_t vectors, const float *d, float *c,
                         int64_t cols) {
  for (int64_t i = 0; i < rows; ++i, c += p.ldc, d = d ? d + p.ldd : nullptr)
    for (int64_t j = 0; j < vectors; ++j, sums += lanes) {
      const int64_t left = cols - j * lanes;
      if (left <= 0) continue;
      V v = hn::Load(D(), sums);
      if (d) v = hn::Add(v, left >= lanes ? load(d + j * lanes) : load_n(d + j * lanes, left));
      if (p.relu) v = relu_of(D(), v);
      left >= lanes ? store(v, c + j * lanes) : store_n(v, c + j * lanes, left);
    }
}

// M rows from i by N vectors of columns from j, which are within one panel or whole panels.
template <class Way, int M, int N>
HWY_INLINE void tile(const Bf16Gemm &p, const Rows &of, int64_t i, int64_t j) {
  const int64_t words = (p.k + 1) / 2;
  const auto *a = reinterpret_cast<const int32_t *>(p.a) + of.group * p.group_a + of.parts.first * p.part_a + i * p.lda;
  const auto *b = reinterpret_cast<const int32_t *>(p.panels) + j / panel * p.panel_step + j % panel +
                  of.parts.first * words * panel;
  V sum[M][N];
  DL4_UNROLL
  for (int r = 0; r < M; ++r) DL4_UNROLL
  for (int v = 0; v < N; ++v) sum[r][v] = hn::Zero(D());
  for (int64_t part = of.parts.first; part < of.parts.last; ++part, a += p.part_a)
    for (int64_t l = 0; l < words; ++l, b += panel) {
      VI weights[N];
      DL4_UNROLL
      for (int v = 0; v < N; ++v)
        weights[v] = hn::LoadU(DI(), b + v / panel_vectors * p.panel_step + v % panel_vectors * lanes);
      DL4_UNROLL
      for (int r = 0; r < M; ++r) {
        const VI x = hn::Set(DI(), a[r * p.lda + l]);
        DL4_UNROLL
        for (int v = 0; v < N; ++v) Way::add(x, weights[v], sum[r][v]);
      }
    }
  const float *d = p.d ? p.d + i * p.ldd + j : nullptr;
  float *c = p.c + of.group * p.group_c + i * p.ldc + j;
  HWY_ALIGN float sums[M * N * lanes];
  DL4_UNROLL
  for (int r = 0; r < M; ++r) DL4_UNROLL
  for (int v = 0; v < N; ++v) hn::Store(sum[r][v], D(), sums + (r * N + v) * lanes);
  finish(p, sums, M, N, d, c, p.n - j);
}

template <class Way, int M>
void rows_of(const Bf16Gemm &p, const Rows &of, int64_t i, int64_t j) {
  tile<Way, M, most_vectors>(p, of, i, j);
}
template <class Way, int... m>
constexpr auto all_rows(std::integer_sequence<int, m...>) {
  return std::array{rows_of<Way, m + 1>...};
}

// All M rows by N vectors at once, so that additions overlap. Returns the next column.
template <class Way, int M, int N>
int64_t few_rows(const Bf16Gemm &p) {
  const int64_t end = round_up(p.n, panel) - N * lanes;
  int64_t j = 0;
  for (; j <= end; j += N * lanes) tile<Way, M, N>(p, {0, {0, p.parts}}, 0, j);
  return j;
}

// All rows multiply a part of a panel while it is in the L1 cache.
template <class Way>
void multiply(const Bf16Gemm &p) {
  static constexpr auto by_rows = all_rows<Way>(std::make_integer_sequence<int, Way::most_rows>());
  int64_t j = 0;
  if constexpr (Way::most_rows > 4) if (p.groups == 1 && !p.used) {
    if (p.m == 1) j = few_rows<Way, 1, 4 * panel_vectors>(p);
    if (p.m == 2) j = few_rows<Way, 2, 4 * panel_vectors>(p);
    if (p.m == 3) j = few_rows<Way, 3, 2 * panel_vectors>(p);
    if (p.m == 4) j = few_rows<Way, 4, 2 * panel_vectors>(p);
  }
  for (; j < p.n; j += most_vectors * lanes)
    for (int64_t group = 0; group < p.groups; ++group) {
      const Rows of{group, p.used ? p.used[group] : PackedGemm::Range{0, p.parts}};
      row_blocks<Way::most_rows>(p.m,
                            [&](int64_t m, int64_t i) HWY_ATTR { by_rows[static_cast<size_t>(m - 1)](p, of, i, j); });
    }
}

}  // namespace

void round_all(const float *x, float *y, int64_t n) {
  map(x, y, n, [](V v) HWY_ATTR { return hn::BitCast(D(), rounded(v)); });
}

void round_rows_all(int64_t m, int64_t k, const float *a, int64_t lda, float *words, int64_t ldw) {
  const hn::Repartition<uint16_t, D> du16;
  for (int64_t i = 0; i < m; ++i, a += lda, words += ldw) {
    auto *to = reinterpret_cast<uint32_t *>(words);
    for (int64_t l = 0; l < k; l += 2 * lanes, to += lanes) {
      const VU first = rounded(load_some(a + l, k - l)), second = rounded(load_some(a + l + lanes, k - l - lanes));
      hn::StoreU(hn::BitCast(DU(), hn::ConcatOdd(du16, hn::BitCast(du16, second), hn::BitCast(du16, first))), DU(), to);
    }
  }
}

void round_panels_all(int64_t k, int64_t n, float *panels) {
  for (int64_t j = 0; j < n; j += panel, panels += panel * k)
    for (int64_t l = 0; l < k; l += 2)
      for (int64_t col = 0; col < panel; col += lanes) {
        const float *from = panels + l * panel + col;
        const VU first = rounded(load(from)), second = l + 1 < k ? rounded(load(from + panel)) : hn::Zero(DU());
        hn::StoreU(hn::Or(second, hn::ShiftRight<16>(first)), DU(),
                   reinterpret_cast<uint32_t *>(panels) + l / 2 * panel + col);
      }
}

void bf16_gemm_all(const Bf16Gemm &p) {
#if HWY_TARGET == HWY_AVX3
  static const bool pairs = cpu::has_bfloat16_products();
  if (pairs) return multiply<Pairs>(p);
#endif
  multiply<Fused>(p);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {

HWY_EXPORT(round_all);
HWY_EXPORT(round_rows_all);
HWY_EXPORT(round_panels_all);
HWY_EXPORT(bf16_gemm_all);

void round_to_bfloat16(const float *x, float *y, int64_t n) noexcept { HWY_DYNAMIC_DISPATCH(round_all)(x, y, n); }
void round_rows(int64_t m, int64_t k, const float *a, int64_t lda, float *words, int64_t ldw) noexcept {
  HWY_DYNAMIC_DISPATCH(round_rows_all)(m, k, a, lda, words, ldw);
}
void round_panels(int64_t k, int64_t n, float *panels) noexcept {
  HWY_DYNAMIC_DISPATCH(round_panels_all)(k, n, panels);
}
void bf16_gemm(const Bf16Gemm &gemm) noexcept { HWY_DYNAMIC_DISPATCH(bf16_gemm_all)(gemm); }

}  // namespace dl4::kernels
#endif
