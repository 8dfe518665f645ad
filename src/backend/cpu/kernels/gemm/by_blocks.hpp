// Products whose sides are laid out in scratch as they are needed: B in panels, A in rows. What a product of any two
// matrices and the convolutions of any geometry share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/gemm/bf16_gemm.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::kernels {

// How much is laid out at once: a block of A and the panels of B stay in the second cache together.
struct Blocks {
  int64_t rows, cols, ks;
  int64_t lda;  // of a block of A; its rows begin in different lines of the first cache

  // Of [m, k] by [k, n]. most_k: k is cut where it is longer.
  Blocks(int64_t m, int64_t n, int64_t k, int64_t most_k) {
    const int64_t cuts = k > most_k ? (k + most_k - 1) / most_k : 1;
    ks = cuts == 1 ? k : std::min(k, round_up((k + cuts - 1) / cuts, 8));
    cols = std::min(round_up(n, packed_panel), std::max(2 * packed_panel, most_b / std::max<int64_t>(ks, 1) / 32 * 32));
    rows = std::min(m, std::max<int64_t>(24, most_a / std::max<int64_t>(ks, 1) / 12 * 12));
    lda = checked_add(round_up(ks, 16), 16);  // and so at least ks rounded up to 32
  }
  int64_t a_floats() const { return checked_mul(round_up(rows, 16), lda); }
  int64_t b_floats() const { return checked_mul(cols, ks); }

 private:
  static constexpr int64_t most_a = 1 << 16, most_b = 1 << 17;  // floats
};

// How blocks are multiplied once they are laid out: as they are, or rounded to bfloat16 in their places.
struct LaidProduct {
  bool bfloat16;

  void rows(int64_t m, int64_t k, float *a, int64_t lda) const noexcept {
    if (bfloat16) round_rows(m, k, a, lda, a, lda);
  }
  void panels(int64_t k, int64_t n, float *b) const noexcept {
    if (bfloat16) round_panels(k, n, b);
  }
  // As packed_gemm(). panel_step: from one panel to the next, where b is a part of them.
  void operator()(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, const float *d,
                  int64_t ldd, float *c, int64_t ldc, bool relu = false, int64_t panel_step = 0) const noexcept {
    if (bfloat16)
      bf16_gemm({m, n, k, a, lda, b, d, ldd, c, ldc, relu, panel_step ? panel_step : packed_panel * k});
    else
      packed_gemm(m, n, k, a, lda, b, d, ldd, c, ldc, relu);
  }
};

struct BlockRange {
  int64_t first, last;
};

// For the blocks of rows, columns and k: b(column, columns, k, ks) lays the columns out, or finds them so; a(row, rows,
// k, ks) does the rows; multiply(row, rows, column, columns, k, ks) has both at hand.
template <class A, class B, class Multiply>
void by_blocks(const Blocks &most, BlockRange rows, BlockRange cols, int64_t k, const A &a, const B &b,
               const Multiply &multiply) {
  for (int64_t l = 0; l < k; l += most.ks) {
    const int64_t ks = std::min(most.ks, k - l);
    for (int64_t j = cols.first; j < cols.last; j += most.cols) {
      const int64_t n = std::min(most.cols, cols.last - j);
      b(j, n, l, ks);
      for (int64_t i = rows.first; i < rows.last; i += most.rows) {
        const int64_t m = std::min(most.rows, rows.last - i);
        a(i, m, l, ks);
        multiply(i, m, j, n, l, ks);
      }
    }
  }
}

}  // namespace dl4::kernels
