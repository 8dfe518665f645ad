// Cuts a product into slices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/cpu/kernels/gemm/gemm.hpp"

namespace dl4::kernels {

// One slice: items [item0, item1) of the batch, rows [row0, row1), columns [col0, col1).
struct GemmPart {
  int64_t item0, item1, row0, row1, col0, col1;
  int64_t rows() const { return row1 - row0; }
  int64_t cols() const { return col1 - col0; }
};

// Whole items if there are enough for even slices, else each item in `pieces` parts by rows or by columns.
struct GemmCut {
  int64_t slices = 1, pieces = 1;
  bool by_columns = false;
  int64_t block = 1;  // cuts rows or columns at multiples of it

  GemmPart part_of(const Gemm &g, int64_t slice) const {
    if (pieces == 1) {
      auto [first, last] = part(g.batch, slices, slice);
      return {first, last, 0, g.m, 0, g.n};
    }
    int64_t item = slice / pieces;
    auto [first, last] = part(by_columns ? g.n : g.m, pieces, slice % pieces, block);
    if (by_columns) return {item, item + 1, 0, g.m, first, last};
    return {item, item + 1, first, last, 0, g.n};
  }
};

// min_rows: fewest rows per slice; with fewer rows, cuts columns.
inline GemmCut cut(const Gemm &g, int64_t slices, int64_t min_rows, int64_t row_block, int64_t column_block) {
  GemmCut c;
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) {
    c.slices = 0;
    return c;
  }
  const int64_t wanted = even_pieces(g.batch, slices);
  const int64_t by_rows = std::min(wanted, g.m / min_rows), by_columns = std::min(wanted, g.n / column_block);
  c.by_columns = by_columns > by_rows;
  c.block = c.by_columns ? column_block : row_block;
  c.pieces = std::max<int64_t>(1, c.by_columns ? by_columns : by_rows);
  c.slices = c.pieces > 1 ? checked_mul(g.batch, c.pieces) : std::clamp<int64_t>(slices, 1, g.batch);
  return c;
}

// Sets each row to the bias, or to zeros.
inline void fill(const float *bias, float *c, int64_t rows, int64_t cols, int64_t ldc) {
  for (int64_t i = 0; i < rows; i++, c += ldc) {
    if (bias)
      std::memcpy(c, bias, static_cast<size_t>(cols) * sizeof(float));
    else
      std::memset(c, 0, static_cast<size_t>(cols) * sizeof(float));
  }
}

}  // namespace dl4::kernels
