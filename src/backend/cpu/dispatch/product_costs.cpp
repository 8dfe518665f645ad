// Costs of products. The factors are those that fit 1,500 random products best (dl4_estimates), measured on one core of
// a Zen 5: nine of ten are within 1.3 of the time taken.
#include <algorithm>
#include <cmath>

#include "backend/cpu/dispatch/costs.hpp"
#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Gemm;

constexpr int64_t dot = 64;  // least multiplications that make a dot product worthwhile
constexpr int64_t few = 8;   // columns
constexpr double load_ports = 2, latency = 4;

double bytes_a(const Gemm &g) { return 4 * real(g.m, g.k); }
double bytes_b(const Gemm &g) { return 4 * real(g.k, g.n); }
double blocks(int64_t rows, int64_t most) { return real((rows + most - 1) / most); }

// Cycles of the loops over k of tiles of at most so many rows by `width` vectors of 16, how many tiles, and how many
// vectors they write.
struct Tiles {
  double cycles = 0, count = 0, vectors = 0;
};
Tiles tiles(const Gemm &g, int64_t most_rows, int64_t width, const Machine &m) {
  const double down = blocks(g.m, most_rows), rows = std::ceil(real(g.m) / down);
  const auto all = static_cast<int64_t>(vectors_of(g.n, m.vector)), wide = width * 16 / static_cast<int64_t>(m.vector);
  Tiles t;
  const auto strips = [&](double count, int64_t vectors) {
    if (count == 0 || vectors == 0) return;
    int64_t taken = 1;
    while (taken < vectors) taken *= 2;
    const double n = real(std::min(taken, wide)), products = rows * n;
    const double sums = products >= 6 ? 1 : products >= 3 ? 2 : 4;
    const double each = std::max({products / m.fused, (rows + n) / load_ports, latency / sums});
    t.cycles += count * down * real(g.k) * each;
    t.count += count * down;
    t.vectors += count * down * products;
  };
  strips(real(all / wide), wide);
  strips(1, all % wide);
  return t;
}
int64_t small_width(const Gemm &g) {
  const double rows = std::ceil(real(g.m) / blocks(g.m, 8));
  return rows <= 6 ? 4 : 2;
}

// By tiles of 8 rows that read B where it is, again for each. Where rows of B are pages apart, little of each is read
// at a time.
double small_plain(const Gemm &g, const Machine &m) {
  if (g.m > 1 && g.k <= 4 && g.n <= 16) return sum({{1, 35}, {real(g.m, g.k), 0.25}, {real(g.m), 1.5}});
  if (g.n <= 4 && g.m >= 4)
    return sum({{1, 31},
                {blocks(g.m, 16) * real(g.k) * partly_halves(m), 4.16 * 16 / m.vector},
                {real(g.m) * partly_halves(m), 5.6},
                {moved_once(g, m), 1.3}});
  if (g.m == 1) {
    const double across = vectors_of(g.n, m.vector);
    return sum({{1, 67}, {real(g.k) * across * partly_halves(m), 1.3}, {across, 1.44}, {moved_once(g, m), 0.91}});
  }
  const Tiles t = tiles(g, 8, small_width(g), m);
  const double b = bytes_b(g), down = blocks(g.m, 8);
  const bool apart = b > m.cache[1] && g.n >= 1024;
  return sum({{1, 72},
              {t.cycles, 0.91},
              {t.count, 7.7},
              {t.vectors, 0.53},
              {moved_once(g, m), 1.24},
              {m.moved(b * (down - 1), b), 0.29},
              {apart ? b * down / 256 : 0, 1.9}});
}
double small_dots(const Gemm &g, const Machine &m) {
  const double down = blocks(g.m, 6), b = bytes_b(g), each = vectors_of(g.k, m.vector);
  return sum({{1, 79},
              {real(g.m, g.n) * each * halves(m), 0.45},
              {down * real(g.n) * each, 0.68},
              {real(g.m, g.n), 3.2},
              {moved_once(g, m), 1.62},
              {m.moved(b * (down - 1), b), 0.19}});
}
double small_transposed(const Gemm &g, const Machine &m) {
  constexpr int64_t chunk = 256;
  const int64_t width = small_width(g);
  const double down = blocks(g.m, 8), chunks = blocks(g.k, chunk);
  const double part = 4 * real(std::min(g.k, chunk)), across = blocks(g.n, 16 * width);
  const Tiles t = tiles(g, 8, width, m);
  return sum(
      {{1, 104},
       {t.cycles, 0.89},
       {t.count * chunks, 11.2},
       {moved_once(g, m), 1.33},
       {m.moved(bytes_b(g) * (down - 1), part * real(g.n)) + m.moved(bytes_a(g) * (across - 1), part * real(g.m)),
        0.22}});
}

// Few columns, one after the other: already packed, or the same way in each run.
double columns(const Gemm &g, const Machine &m) {
  return sum({{1, 85},
              {real(g.m, g.n) * vectors_of(g.k, m.vector) * halves(m), 0.5},
              {real(g.m, g.n) * partly_halves(m), 3.2},
              {m.moved(bytes_b(g) * blocks(g.m, 6), bytes_b(g)), 1},
              {moved_once(g, m), 0.94}});
}

// A product whose last columns are dot products, by the cost of the others.
double with_dots(const Gemm &g, int64_t last, double others, const Machine &m) {
  return others + sum({{real(g.m, last) * vectors_of(g.k, m.vector) * halves(m), 0.6},
                       {real(g.m, last) * partly_halves(m), 3.2},
                       {m.moved(bytes_a(g), std::min(bytes_a(g), 5e5)), 1}});
}
Gemm without_last(const Gemm &g, int64_t columns) {
  Gemm first = g;
  first.n -= columns;
  return first;
}

}  // namespace

const Machine &machine(const Cutting &cutting) {
  return cutting.portable ? portable_machine() : cutting.machine ? *cutting.machine : this_machine();
}

int64_t columns_by_dots(const Gemm &g, const Machine &m) {
  if (g.n <= 1 || g.k < dot) return 0;
  if (g.n < few) return g.n;
  // Under portable bits the choice is the one that they were published with.
  if (m.vector < 16 || &m == &portable_machine()) return 0;
  // A row of one vector of columns against dot products, cycles.
  const int64_t last = g.n % 16;
  const double k = real(g.k), dots = 3.2 * real(last) + 0.0375 * real(last) * k;
  if (g.n < 16) return dots < 0.5 * k ? g.n : 0;
  const bool pays = 0.45 * k - dots > 0.05 * 0.5 * k * vectors_of(g.n, m.vector);
  return last > 0 && pays && g.m >= 12 && !g.by_row && !g.trans_a ? last : 0;
}

double small_gemm_cycles(const Gemm &g, const Machine &m) {
  const bool one_column = g.n == 1 && g.k < 16;
  if (g.trans_a) return small_transposed(g, m);
  if (one_column && g.m > 1) return sum({{1, 71}, {real(g.m, g.k), 0.79}, {real(g.m), 0.25}});
  if (g.trans_b && (g.m < 4 || g.k > 128)) return small_dots(g, m);
  if (const int64_t last = columns_by_dots(g, m); !g.trans_b && last > 0 && last < g.n)
    return with_dots(g, last, small_plain(without_last(g, last), m), m) + 0.74 * real(last, g.k);
  if (!g.trans_b) return g.n == 1 && g.k >= 16 ? small_dots(g, m) : small_plain(g, m);
  const Tiles t = tiles(g, 8, small_width(g), m);
  return sum({{1, 169}, {t.cycles, 0.92}, {t.vectors, 1.18}, {moved_once(g, m), 0.7}, {real(g.n, g.k), 0.38}});
}

double packed_gemm_cycles(const Gemm &g, const Machine &m) {
  const int64_t last = columns_by_dots(g, m);
  if (last == g.n) return columns(g, m);
  if (last > 0) return with_dots(g, last, packed_gemm_cycles(without_last(g, last), m), m);
  const double panels = blocks(g.n, kernels::packed_panel);
  const double one_row =
      sum({{1, 49}, {real(g.k) * panels * 32 / m.vector * halves(m), 0.52}, {panels, 3.4}, {moved_once(g, m), 1.34}});
  if (g.m == 1) return one_row;
  const Tiles t = tiles(g, 12, 2, m);
  const double rows = sum(
      {{1, 54}, {t.cycles, 0.935}, {t.count, 37.7}, {t.vectors * partly_halves(m), 0.56}, {moved_once(g, m), 0.38}});
  return g.m < 4 ? std::max(one_row, rows) : rows;  // few rows take no less than one: they read all panels too
}

double blocked_gemm_cycles(const Gemm &g, const Machine &m) {
  if (columns_by_dots(g, m) == g.n && !g.trans_a && !g.trans_b) return columns(g, m) + 257 + 0.74 * real(g.n, g.k);
  constexpr int64_t page_floats = 1024, few_rows = 8;
  const bool lays_a = g.trans_a || (g.lda % page_floats == 0 && g.m > few_rows);
  const Tiles t = tiles(g, 12, 2, m);
  return sum({{1, 134},
              {t.cycles, 0.92},
              {t.count * partly_halves(m), 43},
              {t.vectors, 0.4},
              {moved_once(g, m), 0.53},
              {g.trans_b ? real(g.n, g.k) : 0, 0.09},
              {real(g.k) * blocks(g.n, kernels::packed_panel), 9.9},
              {lays_a ? real(g.m, g.k) : 0, 0.56}});
}

// Measured on one core of an EPYC of Zen 4, times the speed of packed float32, by bfloat16, int8 and int4:
//               with VNNI           AVX-512 alone       AVX2
// 1x1024x1024   1.87  3.99  6.81    1.91  2.68  2.36    1.86  2.61  1.97
// 1x512x128     1.80  3.31  4.91    1.81  2.16  1.90    1.55  1.97  1.45
// 1x64x64       1.23  1.78  1.71    1.23  1.17  0.98    1.00  0.96  0.75
// 2x1024x1024   1.33  3.90  3.72    1.35  1.93  1.75    1.18  0.95  1.29
// 32x1024x1024  0.97  3.83  3.51    0.98  1.57  1.43    0.48  0.95  1.14
// 32x512x128    0.98  3.03  2.84    0.98  1.41  1.27    0.49  0.89  1.02
// 256x64x32     0.98  1.33  1.20
// 1024x32x16    0.99  0.71  0.64
kernels::WeightType narrowed(kernels::WeightType wanted, int64_t m, int64_t n, int64_t k, const Machine &machine) {
  using enum kernels::WeightType;
  constexpr int64_t side = 32, least_rows = 24, least = 1 << 13;
  constexpr int64_t int4_weights =
      1 << 17;  // fewer lose most accuracy, and save at most 64 KB (tests/models/README.md)
  const bool wide = machine.vector >= 16;
  const int64_t rows = wanted == bfloat16 ? (wide ? 2 : 1) : wide ? INT64_MAX : 1;
  const double weights = real(n, k);
  const bool pays = m <= rows && n >= side && k >= least_rows && weights >= real(least) && k <= kernels::most_int8_rows;
  if (!pays) return float32;
  return wanted == int4 && weights < real(int4_weights) ? int8 : wanted;
}

}  // namespace dl4::dispatch
