// Products by AMX tiles: splitting numbers into parts, packing and multiplying them.
#include "backend/cpu/kernels/gemm/amx_gemm.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.hpp"
#include "base/cpu.hpp"

#if defined(__x86_64__)

#ifndef DL4_KERNELS_AMX_TILES
#define DL4_KERNELS_AMX_TILES
namespace dl4::kernels {

// A tile has 16 rows of 16 words. A word holds two bfloat16: two k of a row of A, or two k of a column of B.
inline constexpr int64_t one_tile = 256;
inline constexpr int64_t tile_parts = 3;
// The parts of one tile, consecutively.
inline constexpr int64_t place_words = tile_parts * one_tile;

inline int64_t tiles_of(int64_t n) { return (n + tile_rows - 1) / tile_rows; }
inline int64_t steps_of(int64_t k) { return (k + tile_ks - 1) / tile_ks; }

}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm/amx_gemm.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/bfloat16-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// Splits v into three bfloat16 whose sum is v.
HWY_INLINE void take_apart(V v, VU (&parts)[tile_parts]) {
  DL4_UNROLL
  for (int64_t i = 0; i < tile_parts; ++i) {
    parts[i] = upper(v);
    v = hn::Sub(v, hn::BitCast(D(), parts[i]));
  }
}

// Whether all parts are normal numbers, given the largest absolute values (as bits) of rows or columns.
HWY_INLINE bool fit(VU largest) {
  const auto zero = hn::Eq(largest, hn::Zero(DU()));
  const DI di;
  const VI bits = hn::BitCast(di, largest);
  const auto within =
      hn::And(hn::Gt(bits, hn::Set(di, ((127 - 50) << 23) - 1)), hn::Lt(bits, hn::Set(di, ((127 + 60) << 23) + 1)));
  return hn::AllTrue(DU(), hn::Or(zero, hn::RebindMask(DU(), within)));
}
HWY_INLINE VU without_sign(V v) { return hn::And(hn::BitCast(DU(), v), hn::Set(DU(), 0x7FFFFFFF)); }

}  // namespace

// Packs rows of A as tiles: [rows in tiles, k in steps, part, row, word]. Returns whether they fit.
bool lay_rows(int64_t m, int64_t k, const float *a, int64_t lda, uint32_t *to) {
  const hn::Repartition<uint16_t, D> du16;
  const int64_t steps = steps_of(k);
  VU worst = hn::Set(DU(), 127 << 23);
  bool all = true;
  for (int64_t i = 0; i < tiles_of(m) * tile_rows; ++i) {
    uint32_t *row = to + i / tile_rows * steps * place_words + i % tile_rows * 16;
    VU largest = hn::Zero(DU());
    for (int64_t s = 0; s < steps; ++s, row += place_words)
      for (int64_t l = 0; l < tile_ks; l += 2 * lanes) {
        VU low[tile_parts], high[tile_parts];
        const int64_t at = s * tile_ks + l, left = i < m ? k - at : 0;
        const V first = load_some(a + i * lda + at, left), second = load_some(a + i * lda + at + lanes, left - lanes);
        largest = hn::Max(largest, hn::Max(without_sign(first), without_sign(second)));
        take_apart(first, low);
        take_apart(second, high);
        DL4_UNROLL
        for (int64_t p = 0; p < tile_parts; ++p)
          hn::StoreU(hn::BitCast(DU(), hn::ConcatOdd(du16, hn::BitCast(du16, high[p]), hn::BitCast(du16, low[p]))),
                     DU(), row + p * one_tile + l / 2);
      }
    worst = hn::MaxOfLanes(DU(), largest);
    all = all && fit(worst);
  }
  return all;
}

// Packs columns of B as tiles: [columns in tiles, k in steps, part, pair of k, word]. Returns whether they fit.
bool lay_columns(int64_t k, int64_t n, const float *b, int64_t ldb, uint32_t *to) {
  bool all = true;
  const int64_t steps = steps_of(k);
  for (int64_t j = 0; j < tiles_of(n) * tile_rows; j += lanes) {
    uint32_t *column = to + j / tile_rows * steps * place_words + j % tile_rows;
    VU largest = hn::Zero(DU());
    for (int64_t l = 0; l < steps * tile_ks; l += 2) {
      VU even[tile_parts], odd[tile_parts];
      const V first = load_some(b + l * ldb + j, l < k ? n - j : 0);
      const V second = load_some(b + (l + 1) * ldb + j, l + 1 < k ? n - j : 0);
      largest = hn::Max(largest, hn::Max(without_sign(first), without_sign(second)));
      take_apart(first, even);
      take_apart(second, odd);
      uint32_t *pair = column + l / tile_ks * place_words + l % tile_ks * 8;
      DL4_UNROLL
      for (int64_t p = 0; p < tile_parts; ++p)
        hn::StoreU(hn::Or(odd[p], hn::ShiftRight<16>(even[p])), DU(), pair + p * one_tile);
    }
    all = all && fit(largest);
  }
  return all;
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {

HWY_EXPORT(lay_rows);
HWY_EXPORT(lay_columns);

namespace {

// Configures all eight tiles at full size.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// Holds the thread's tile configuration within a scope. Inline assembly, since the intrinsics of some compilers do not
// declare that they read and write memory.
#define DL4_TILES __attribute__((target("amx-tile,amx-bf16")))
DL4_TILES void configure_tiles() noexcept {
  static constexpr TileConfig config;
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
}
DL4_TILES void release_tiles() noexcept { __asm__ volatile("tilerelease"); }

#define DL4_TILE_LOAD(tile, from, step) \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"(step) : "memory")
#define DL4_TILE_STORE(tile, to, step) \
  __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(step) : "memory")
#define DL4_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile:)
#define DL4_TILE_MULTIPLY(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c:)

// The products of parts, smallest first.
constexpr struct { int a, b; } products[most_tile_products] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};

// C = A B (+ C) for up to two by two tiles. Each tile of C has its own address; its rows are `step` bytes apart.
struct TileProduct {
  const uint32_t *a[2], *b[2];  // second: nullptr if there is none
  int64_t steps;
  float *c[2][2];
  int64_t step[2][2];
  bool add;
};
template <int count>
DL4_TILES void multiply_tiles(const TileProduct &p) noexcept {
  const bool down = p.a[1] != nullptr, right = p.b[1] != nullptr;
  if (p.add) {
    DL4_TILE_LOAD(0, p.c[0][0], p.step[0][0]);
    if (right) DL4_TILE_LOAD(1, p.c[0][1], p.step[0][1]);
    if (down) DL4_TILE_LOAD(2, p.c[1][0], p.step[1][0]);
    if (down && right) DL4_TILE_LOAD(3, p.c[1][1], p.step[1][1]);
  } else {
    DL4_TILE_ZERO(0);
    DL4_TILE_ZERO(1);
    DL4_TILE_ZERO(2);
    DL4_TILE_ZERO(3);
  }
  constexpr int64_t row = 64;
  for (int64_t s = 0; s < p.steps; ++s) {
    const int64_t at = s * place_words;
    DL4_UNROLL
    for (int q = most_tile_products - count; q < most_tile_products; ++q) {
      const int64_t part_a = at + products[q].a * one_tile, part_b = at + products[q].b * one_tile;
      DL4_TILE_LOAD(4, p.a[0] + part_a, row);
      DL4_TILE_LOAD(6, p.b[0] + part_b, row);
      DL4_TILE_MULTIPLY(0, 4, 6);
      if (right) {
        DL4_TILE_LOAD(7, p.b[1] + part_b, row);
        DL4_TILE_MULTIPLY(1, 4, 7);
      }
      if (down) {
        DL4_TILE_LOAD(5, p.a[1] + part_a, row);
        DL4_TILE_MULTIPLY(2, 5, 6);
        if (right) DL4_TILE_MULTIPLY(3, 5, 7);
      }
    }
  }
  DL4_TILE_STORE(0, p.c[0][0], p.step[0][0]);
  if (right) DL4_TILE_STORE(1, p.c[0][1], p.step[0][1]);
  if (down) DL4_TILE_STORE(2, p.c[1][0], p.step[1][0]);
  if (down && right) DL4_TILE_STORE(3, p.c[1][1], p.step[1][1]);
}

}  // namespace

void tile_gemm(const TileGemm &g) noexcept {
  const auto multiply = g.products == most_tile_products ? multiply_tiles<most_tile_products>
                        : g.products == 1                ? multiply_tiles<1>
                                                         : multiply_tiles<3>;
  const int64_t m = g.m, n = g.n, ldc = g.ldc;
  const bool add = g.add;
  const int64_t steps = steps_of(g.k), a_apart = steps_of(g.a_k) * place_words, b_apart = steps_of(g.b_k) * place_words;
  configure_tiles();
  alignas(64) float edge[4][one_tile];  // for tiles of C that extend past its rows and columns
  for (int64_t i = 0; i < m; i += 2 * tile_rows)
    for (int64_t j = 0; j < n; j += 2 * tile_rows) {
      TileProduct p{{}, {}, steps, {}, {}, add};
      for (int64_t t = 0; t < 2; ++t) {
        const int64_t row = i + t * tile_rows, col = j + t * tile_rows;
        p.a[t] = row < m ? g.a + row / tile_rows * a_apart : nullptr;
        p.b[t] = col < n ? g.b + col / tile_rows * b_apart : nullptr;
      }
      const auto each = [&](auto whole, auto part) {
        for (int64_t q = 0; q < 4; ++q) {
          const int64_t row = i + q / 2 * tile_rows, col = j + q % 2 * tile_rows;
          if (row >= m || col >= n) continue;
          const int64_t rows = std::min(tile_rows, m - row), cols = std::min(tile_rows, n - col);
          float *to = g.c + row * ldc + col;
          if (rows == tile_rows && cols == tile_rows)
            whole(q, to);
          else
            part(q, to, rows, cols);
        }
      };
      each(
          [&](int64_t q, float *to) {
            p.c[q / 2][q % 2] = to;
            p.step[q / 2][q % 2] = ldc * static_cast<int64_t>(sizeof(float));
          },
          [&](int64_t q, const float *from, int64_t rows, int64_t cols) {
            p.c[q / 2][q % 2] = edge[q];
            p.step[q / 2][q % 2] = 64;
            if (!add) return;
            std::memset(edge[q], 0, sizeof edge[q]);
            for (int64_t r = 0; r < rows; ++r)
              std::memcpy(edge[q] + r * 16, from + r * ldc, static_cast<size_t>(cols) * sizeof(float));
          });
      multiply(p);
      each([](int64_t, float *) {},
           [&](int64_t q, float *to, int64_t rows, int64_t cols) {
             for (int64_t r = 0; r < rows; ++r)
               std::memcpy(to + r * ldc, edge[q] + r * 16, static_cast<size_t>(cols) * sizeof(float));
           });
    }
  release_tiles();
}

int64_t tile_words(int64_t rows, int64_t k) { return checked_mul(tiles_of(rows), steps_of(k), place_words); }
bool lay_tile_rows(int64_t m, int64_t k, const float *a, int64_t lda, uint32_t *to) noexcept {
  return HWY_DYNAMIC_DISPATCH(lay_rows)(m, k, a, lda, to);
}
bool lay_tile_columns(int64_t k, int64_t n, const float *b, int64_t ldb, uint32_t *to) noexcept {
  return HWY_DYNAMIC_DISPATCH(lay_columns)(k, n, b, ldb, to);
}

bool TileRows::multiply(int64_t m, int64_t n, int64_t numbers, const float *b, int64_t ldb, uint32_t *room, bool add,
                        float *c, int64_t ldc) const noexcept {
  if (!fit || !lay_tile_columns(numbers, n, b, ldb, room)) return false;
  tile_gemm({products, m, n, numbers, words, room, k, numbers, add, c, ldc});
  return true;
}

namespace {
std::optional<bool> pretended;
}
void pretend_tiles(bool has) noexcept { pretended = has; }
bool has_tiles() noexcept {
  if (pretended) return *pretended;
  static const bool found = cpu::may_use_tiles();
  return found;
}

}  // namespace dl4::kernels
#endif

#else

namespace dl4::kernels {

// Never called: has_tiles() is false.
int64_t tile_words(int64_t, int64_t) { return 0; }
bool lay_tile_rows(int64_t, int64_t, const float *, int64_t, uint32_t *) noexcept { return false; }
bool lay_tile_columns(int64_t, int64_t, const float *, int64_t, uint32_t *) noexcept { return false; }
void tile_gemm(const TileGemm &) noexcept {}
bool TileRows::multiply(int64_t, int64_t, int64_t, const float *, int64_t, uint32_t *, bool, float *,
                        int64_t) const noexcept {
  return false;
}
void pretend_tiles(bool) noexcept {}
bool has_tiles() noexcept { return false; }

}  // namespace dl4::kernels

#endif
