// Steps on rows of few channels, joined into one kernel: what lies between them stays in the first cache, a row of it
// all steps of a channel, so that vectors are full however few channels there are.
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

// What is joined has so many rows, a multiple of row_block, of so many channels, and of sources of a product.
inline constexpr int64_t row_block = 16, most_joined_rows = 64, most_row_channels = 16, most_row_sources = 256;
constexpr bool can_join_rows(int64_t rows) { return rows > 0 && rows <= most_joined_rows && rows % row_block == 0; }
constexpr bool are_row_channels(int64_t n) { return n > 0 && n <= most_row_channels; }

// Items and rows of each: of what has a batch, steps and channels, else of all in one.
inline std::pair<int64_t, int64_t> rows_of(const Shape &s) {
  if (s.rank() == 3 && s[1] > 1) return {s[0], s[1]};
  return {1, s.elements(0, s.rank() - 1)};
}

// The same as a kernel does, of each item's x [rows, in] and what it makes [rows, out], for one that is made of it and
// its neighbours. The bits are the same.
struct RowStep {
  enum class Does {
    product,  // x, weights and bias; a window's row r has rows r, r + dilation, .. of x, `taps` of them
    binary,   // both [rows, in]
    unary,
    ring,  // state, x and the number of the tick; the state again and a window of `count` rows
  };
  Does does{};
  int64_t rows = 0, in = 0, out = 0;
  int64_t items = 1;  // of a batch, of so many rows each
  Function then{};    // of a product or binary; what a unary computes
  ops::Binary f{};
  std::shared_ptr<const PackedFloats> panels{};
  int64_t taps = 1, dilation = 1;
  bool bias = false;
  int64_t capacity = 0, each = 0, count = 0, skip = 0;
  bool turned = false;  // the state is [in, capacity], where a window fits in

  // Of a ring: the first row of the window, from x's first on.
  int64_t first() const { return rows - skip - count; }
};

// One of a joined kernel. Values are [channels, rows] floats at a place in its scratch; args are numbers of its
// arguments, -1: none.
struct RowCode {
  enum class Does : int32_t {
    load,  // of memory [rows, in]: the taps of its windows
    store,
    product,
    binary,
    unary,
    ring,  // its value is where each row of each tap lies, by pointers, then room for what they point to
    turned_ring,
  };
  Does does{};
  ops::Binary f{};
  int32_t in = 0, out = 0, taps = 1;
  // Of a product: its source is a ring's; b is added before `then`, or a product of `more` sources that are b.
  bool by_pointers = false, adds = false;
  int32_t more = 0;
  const float *more_weights = nullptr;
  bool sums = false;  // and what it makes is added to what is at sum_from, which goes to sum_to
  int64_t sum_from = 0, sum_to = 0;
  int64_t dilation = 1;
  int64_t a = 0, b = 0, to = 0;         // places, in floats
  int arg = -1, tick = -1, state = -1;  // memory or bias; of a ring x, if it is in memory
  int from = -1;                        // the ring as it was
  const float *weights = nullptr;       // [sources, out]
  Function then{};
  int64_t capacity = 0, each = 0, count = 0, first = 0;
  int64_t staging = 0;  // of a ring: a place for staging_floats()
};
inline constexpr int32_t most_more_sources = 3;
// The window of a ring that is not turned is at most so many times what comes.
inline constexpr int64_t most_ring_windows = 4;
// Of the value of a ring: behind the pointers begins the room.
constexpr int64_t pointer_floats(int64_t rows) { return round_up(rows * 2, 16); }
constexpr int64_t ring_floats(const RowCode &c, int64_t rows) {
  const int64_t room = c.does == RowCode::Does::turned_ring ? rows * c.taps : round_up(c.count, row_block);
  return pointer_floats(int64_t{c.in} * c.taps) + room * c.in;
}
constexpr int64_t staging_floats(const RowCode &c, int64_t rows) { return (most_ring_windows + 1) * rows * c.in; }

// A product's weights, of panels: [sources, out].
std::shared_ptr<const PackedFloats> row_weights(const PackedFloats &panels, int64_t sources, int64_t out);

// floats: of the scratch. keeps: what the codes point to.
// apart: by argument, the bytes from an item of the batch to the next one.
[[gnu::cold]] std::unique_ptr<Kernel> joined_rows(int64_t rows, std::vector<RowCode> codes, int64_t floats,
                                                  std::vector<std::shared_ptr<const PackedFloats>> keeps,
                                                  int64_t items = 1, std::vector<int64_t> apart = {});

}  // namespace dl4::kernels
