// float32 products by AMX tiles, which multiply bfloat16, of blocks packed by by_blocks().
#pragma once

#include <cstdint>

namespace dl4::kernels {

// Each number is the exact sum of three bfloat16, x = x0 + x1 + x2, and a product is
//   a2 b0 + a1 b1 + a0 b2 + a1 b0 + a0 b1 + a0 b0,
// summed in this order for each 32 of k, in float32. The omitted products are below 2^-24 of |a| |b|.
// The parts are normal numbers if each row of A and each column of B is zero or has its largest absolute value between
// 2^-50 and 2^60. Sides with other numbers, including NaN and infinity, do not fit and are multiplied by other kernels.
//
// Whether the processor has tiles and the system grants them to this process. The first call requests them.
bool has_tiles() noexcept;
void pretend_tiles(bool has) noexcept;  // for tests

inline constexpr int most_tile_products = 6;
inline constexpr int64_t tile_rows = 16, tile_ks = 32;
// Largest block of k: two tiles of A's rows stay in the L1 cache while B streams by.
inline constexpr int64_t most_tile_k = 4 * tile_ks;

// Words of a packed side: `rows` rows of A, or columns of B, of k numbers each.
int64_t tile_words(int64_t rows, int64_t k);
// Returns whether they fit.
bool lay_tile_rows(int64_t m, int64_t k, const float *a, int64_t lda, uint32_t *to) noexcept;
bool lay_tile_columns(int64_t k, int64_t n, const float *b, int64_t ldb, uint32_t *to) noexcept;

// C [m, n] = A B (+ C) of packed sides that fit. products: 6; 3 for the last three, which omit 2^-16 of |a| |b|; or 1
// for the last one, the product of rounded sides. Denormals in C count as zeros. Requires has_tiles().
struct TileGemm {
  int products;
  int64_t m, n, k;
  const uint32_t *a, *b;
  int64_t a_k, b_k;  // k of the packed sides, of which k may be a part
  bool add;
  float *c;
  int64_t ldc;
};
void tile_gemm(const TileGemm &gemm) noexcept;

// Packed rows of A, shared by several products.
struct TileRows {
  int products = 0;
  uint32_t *words = nullptr;
  int64_t k = 0;
  bool fit = false;

  void lay(int64_t m, int64_t numbers, const float *a, int64_t lda) noexcept {
    k = numbers, fit = lay_tile_rows(m, k, a, lda, words);
  }
  // Multiplies the first m rows and k numbers of them by B, which is packed into `room`. Returns false if a side does
  // not fit.
  bool multiply(int64_t m, int64_t n, int64_t k, const float *b, int64_t ldb, uint32_t *room, bool add, float *c,
                int64_t ldc) const noexcept;
};

}  // namespace dl4::kernels
