// Products of float32 by the tiles of AMX, which multiply bfloat16: of blocks as by_blocks() has them laid out.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// Each number is the exact sum of three bfloat16, x = x0 + x1 + x2, and a product is
//   a2 b0 + a1 b1 + a0 b2 + a1 b0 + a0 b1 + a0 b0,
// summed in this order for each 32 of k, in float32. What is left out is below 2^-24 of |a| |b|.
// The parts are normal numbers where each row of A and each column of B is zero or has its largest number between 2^-50
// and 2^60. Sides that have other numbers, NaN and infinity too, do not fit, and are multiplied as elsewhere.
//
// Has the processor tiles, and lets the system this process use them? It is asked once, by the first call.
bool has_tiles() noexcept;
void pretend_tiles(bool has) noexcept;  // for tests

inline constexpr int most_tile_products = 6;
inline constexpr int64_t tile_rows = 16, tile_ks = 32;
// So many of k at once that two tiles of A's rows stay in the first cache while B goes by.
inline constexpr int64_t most_tile_k = 4 * tile_ks;

// The parts of a side in tiles: `rows` rows of A, or columns of B, of k numbers each.
int64_t tile_words(int64_t rows, int64_t k);
// Whether they fit.
bool lay_tile_rows(int64_t m, int64_t k, const float *a, int64_t lda, uint32_t *to) noexcept;
bool lay_tile_columns(int64_t k, int64_t n, const float *b, int64_t ldb, uint32_t *to) noexcept;

// C [m, n] = A B (+ C) of sides that fit. products: 6; the last 3 of them, which leave out 2^-16 of |a| |b|; or the
// last one, the product of rounded sides. Denormal numbers of C count as zeros. Needs has_tiles().
struct TileGemm {
  int products;
  int64_t m, n, k;
  const uint32_t *a, *b;
  int64_t a_k, b_k;  // that the sides were laid out with, of which k may be a part
  bool add;
  float *c;
  int64_t ldc;
};
void tile_gemm(const TileGemm &gemm) noexcept;

// Rows of A that many products share.
struct TileRows {
  int products = 0;
  uint32_t *words = nullptr;
  int64_t k = 0;
  bool fit = false;

  void lay(int64_t m, int64_t numbers, const float *a, int64_t lda) noexcept {
    k = numbers, fit = lay_tile_rows(m, k, a, lda, words);
  }
  // The first m rows and k numbers of them by B, which is laid out in `room`. Whether it was done: else a side does not
  // fit.
  bool multiply(int64_t m, int64_t n, int64_t k, const float *b, int64_t ldb, uint32_t *room, bool add, float *c,
                int64_t ldc) const noexcept;
};

}  // namespace dl4::kernels
