// Joins steps on rows of few channels into one kernel. Intermediate values stay in the L1 cache as [channels, steps],
// so that vectors are full however few channels there are.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cpu/kernels/elementwise/function.hpp"
#include "backend/cpu/kernels/gemm/packed.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "base/shape.hpp"
#include "ops/functions.hpp"

namespace dl4::kernels {

// Limits of joined steps: rows (a multiple of row_block), channels, and sources of a product.
inline constexpr int64_t row_block = 16, most_joined_rows = 64, most_row_channels = 16, most_row_sources = 256;
constexpr bool can_join_rows(int64_t rows) { return rows > 0 && rows <= most_joined_rows && rows % row_block == 0; }
constexpr bool are_row_channels(int64_t n) { return n > 0 && n <= most_row_channels; }

// Number of items, and rows of each: for values with batch, steps and channels; else all rows in one item.
inline std::pair<int64_t, int64_t> rows_of(const Shape &s) {
  if (s.rank() == 3 && s[1] > 1) return {s[0], s[1]};
  return {1, s.elements(0, s.rank() - 1)};
}

// The operation of a kernel on each item, x [rows, in] to [rows, out], so that a joined kernel can be made of it and
// its neighbours. The bits are the same.
struct RowStep {
  enum class Does {
    product,  // x, weights, bias; row r of a window has rows r, r + dilation, .. of x, `taps` of them
    binary,   // both [rows, in]
    unary,
    ring,  // state, x and the tick number; outputs the state and a window of `count` rows
  };
  Does does{};
  int64_t rows = 0, in = 0, out = 0;
  int64_t items = 1;  // in the batch, with so many rows each
  Function then{};    // after a product or binary; a unary's function
  ops::Binary f{};
  std::shared_ptr<const PackedFloats> panels{};
  int64_t taps = 1, dilation = 1;
  bool bias = false;
  int64_t capacity = 0, each = 0, count = 0, skip = 0;
  bool turned = false;  // the state is [in, capacity], which holds a window

  // For a ring: the window's first row, relative to x's first.
  int64_t first() const { return rows - skip - count; }
};

// An operation of a joined kernel. Values are [channels, rows] floats at an offset of its scratch; args are indices of
// its arguments, -1: none.
struct RowCode {
  enum class Does : int32_t {
    load,  // from memory [rows, in]: the taps of its windows
    store,
    product,
    binary,
    unary,
    ring,  // its value is a pointer to each row of each tap, then room for transposed rows
    turned_ring,
  };
  Does does{};
  ops::Binary f{};
  int32_t in = 0, out = 0, taps = 1;
  // For a product whose source is a ring. adds: b is added before `then`; with `more` sources, b is a product of those.
  bool by_pointers = false, adds = false;
  int32_t more = 0;
  const float *more_weights = nullptr;
  bool sums = false;  // its result is added to sum_from, giving sum_to
  int64_t sum_from = 0, sum_to = 0;
  int64_t dilation = 1;
  int64_t a = 0, b = 0, to = 0;         // scratch offsets in floats
  int arg = -1, tick = -1, state = -1;  // memory or bias; for a ring x, if in memory
  int from = -1;                        // the ring's previous state
  const float *weights = nullptr;       // [sources, out]
  Function then{};
  int64_t capacity = 0, each = 0, count = 0, first = 0;
  int64_t staging = 0;  // for a ring: offset of staging_floats()
};
inline constexpr int32_t most_more_sources = 3;
// Largest ratio of window to new rows for a ring that is not transposed.
inline constexpr int64_t most_ring_windows = 4;
// In a ring's value: where the room behind the pointers begins.
constexpr int64_t pointer_floats(int64_t rows) { return round_up(rows * 2, 16); }
constexpr int64_t ring_floats(const RowCode &c, int64_t rows) {
  const int64_t room = c.does == RowCode::Does::turned_ring ? rows * c.taps : round_up(c.count, row_block);
  return pointer_floats(int64_t{c.in} * c.taps) + room * c.in;
}
constexpr int64_t staging_floats(const RowCode &c, int64_t rows) { return (most_ring_windows + 1) * rows * c.in; }

// A product's weights [sources, out] from panels.
std::shared_ptr<const PackedFloats> row_weights(const PackedFloats &panels, int64_t sources, int64_t out);

// floats: size of the scratch. keeps: objects that the codes point to. apart: per argument, the bytes between items of
// the batch.
[[gnu::cold]] std::unique_ptr<Kernel> joined_rows(int64_t rows, std::vector<RowCode> codes, int64_t floats,
                                                  std::vector<std::shared_ptr<const PackedFloats>> keeps,
                                                  int64_t items = 1, std::vector<int64_t> apart = {});

}  // namespace dl4::kernels
