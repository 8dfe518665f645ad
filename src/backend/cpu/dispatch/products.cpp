// Which kernel computes which matrix product, by measured thresholds.
#include "backend/cpu/dispatch/products.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "base/tensor.hpp"
#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/dispatch/thresholds.hpp"
#include "backend/cpu/kernels/gemm/blas.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "backend/cpu/kernels/gemm/small_gemm.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Constant;
using kernels::Gemm;
using kernels::Kernel;
using kernels::Run;

// How our own kernels cut: rows, or columns when there are few rows to share B among.
kernels::GemmCut cut_own(const Gemm &g, int64_t slices) { return kernels::cut(g, slices, 8, 4, kernels::packed_panel); }

// How much of C is made at once: an epilogue wants it still in the first cache.
struct Block {
  int64_t rows, cols;
};
constexpr int64_t block_floats = 4096;

// For kernels that go through all of B for a few rows.
Block whole_rows(const Gemm &g, const kernels::GemmPart &p) {
  return {g.epilogue ? std::max<int64_t>(8, block_floats / p.cols() / 8 * 8) : p.rows(), p.cols()};
}

// For those that go through all rows for a panel of B: so many of A that they stay in the second cache, or in the first
// where B is soon gone through.
Block whole_panels(const Gemm &g, const kernels::GemmPart &p) {
  const int64_t panel = kernels::packed_panel;
  // bounded: of C and of B, which are in memory
  if (p.rows() * p.cols() <= block_floats) return {p.rows(), p.cols()};
  // bounded: the same
  const int64_t floats = g.k * p.cols() <= 1 << 15 ? 1 << 13 : 1 << 17;
  const int64_t rows = std::min(p.rows(), std::max<int64_t>(72, floats / g.k / 12 * 12));
  // bounded: of at most 4096 numbers
  return {rows, g.epilogue ? std::max(panel, block_floats / rows / panel * panel) : p.cols()};
}

// Calls f(a, b, bias, c, rows, cols, first column) for the blocks of one slice, and the epilogue for each.
template <class F>
void each_block(const Gemm &g, const kernels::GemmPart &p, Block (*size)(const Gemm &, const kernels::GemmPart &),
                const Run &r, F f) noexcept {
  if (p.rows() == 0 || p.cols() == 0) return;
  const Block most = size(g, p);
  const float *bias = g.bias ? r.in<float>(2) : nullptr;
  for (int64_t item = p.item0; item < p.item1; ++item) {
    for (int64_t row = p.row0; row < p.row1; row += most.rows) {
      for (int64_t col = p.col0; col < p.col1; col += most.cols) {
        int64_t rows = std::min(most.rows, p.row1 - row), cols = std::min(most.cols, p.col1 - col);
        const float *a = r.in<float>(0) + item * g.stride_a + (g.trans_a ? row : row * g.lda);
        const float *b = r.in<float>(1) + item * g.stride_b + (g.trans_b ? col * g.ldb : col);
        float *c = r.out<float>(0) + item * g.stride_c + row * g.ldc + col;
        f(a, b, bias ? bias + col : nullptr, c, rows, cols, col);
        if (g.epilogue) g.epilogue(c, rows, cols, g.ldc);
      }
    }
  }
}

bool small_multiplies(const Gemm &g) { return !(g.trans_a && g.trans_b); }
auto small_of(const Gemm &g) {
  return g.trans_a ? kernels::small_gemm_at : g.trans_b ? kernels::small_gemm_bt : kernels::small_gemm;
}

std::unique_ptr<Kernel> small(const Gemm &g, int64_t slices) {
  if (!small_multiplies(g)) return nullptr;
  auto cut = cut_own(g, slices);
  return kernels::make_kernel("small_gemm", cut.slices, [g, cut](int64_t slice, const Run &r) noexcept {
    auto multiply = small_of(g);
    auto block = [&](auto *a, auto *b, auto *bias, float *c, int64_t rows, int64_t cols, int64_t) {
      multiply(rows, cols, g.k, a, g.lda, b, g.ldb, bias, 0, c, g.ldc);
    };
    each_block(g, cut.part_of(g, slice), whole_rows, r, block);
  });
}

// Are there so few columns that vectors of them would be mostly empty, and are they long enough for dot products?
bool few_columns(const Gemm &g) { return g.n > 1 && g.n < 8 && g.k >= 64; }

std::shared_ptr<const kernels::Packed> packed_columns(const Gemm &g, const Constant &b) {
  return b.packed(text("columns ", g.k, 'x', g.n, ' ', g.ldb, g.trans_b ? " transposed" : ""), [&] {
    auto columns = std::make_shared<const kernels::PackedFloats>(checked_mul(g.k, g.n));
    int64_t dims[2] = {g.n, g.k}, from[2] = {g.trans_b ? g.ldb : 1, g.trans_b ? 1 : g.ldb}, to[2] = {g.k, 1};
    kernels::copy_strided(sizeof(float), 2, dims, b.data, from, columns->floats(), to);
    return columns;
  });
}

// A constant right-hand side in panels, or column by column.
std::unique_ptr<Kernel> packed(Gemm g, int64_t slices, const Constant *b) {
  if (!b || g.trans_a || g.stride_b != 0) return nullptr;
  const bool few = few_columns(g), relu = g.epilogue.relu && !few;
  if (relu) g.epilogue = {};  // done before C is stored
  std::shared_ptr<const kernels::Packed> form =
      few ? packed_columns(g, *b) : kernels::packed_panels(*b, g.k, g.n, g.ldb, g.trans_b);
  auto cut = cut_own(g, slices);
  auto run = [g, cut, form, few, relu](int64_t slice, const Run &r) noexcept {
    const float *panels = static_cast<const kernels::PackedFloats &>(*form).floats();
    auto block = [&](auto *a, auto *, auto *bias, float *c, int64_t rows, int64_t cols, int64_t col) {
      if (few)
        kernels::dot_gemm(rows, cols, g.k, a, g.lda, panels + col * g.k, g.k, bias, 0, c, g.ldc);
      else
        kernels::packed_gemm(rows, cols, g.k, a, g.lda, panels + col * g.k, bias, 0, c, g.ldc, relu);
    };
    each_block(g, cut.part_of(g, slice), few ? whole_rows : whole_panels, r, block);
  };
  return kernels::make_kernel("packed_gemm", cut.slices, run);
}

void multiply_plainly(const Gemm &g, const float *a, const float *b, const float *bias, float *c, int64_t rows,
                      int64_t cols, int64_t ldc) noexcept {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      double s = bias ? bias[j] : 0;
      for (int64_t l = 0; l < g.k; ++l)
        s += static_cast<double>(a[g.trans_a ? l * g.lda + i : i * g.lda + l]) *
             b[g.trans_b ? j * g.ldb + l : l * g.ldb + j];
      c[i * ldc + j] = static_cast<float>(s);
    }
  }
}

std::unique_ptr<Kernel> reference(const Gemm &g, int64_t slices) {
  auto cut = cut_own(g, slices);
  return kernels::make_kernel("reference_gemm", cut.slices, [g, cut](int64_t slice, const Run &r) noexcept {
    auto block = [&](auto *a, auto *b, auto *bias, float *c, int64_t rows, int64_t cols, int64_t) {
      multiply_plainly(g, a, b, bias, c, rows, cols, g.ldc);
    };
    each_block(g, cut.part_of(g, slice), whole_rows, r, block);
  });
}

// What there is to choose from.
struct Product {
  const Gemm &g;
  int64_t slices;
  const Constant *b;  // the right-hand side, constant and shared by all items; or nullptr
  DType dtype() const { return g.dtype; }
};

constexpr const char *by_small = "small_gemm", *by_panels = "packed_gemm";

constexpr Candidate<Product> products[] = {
    {by_panels, [](const Product &p) { return p.b != nullptr; },
     [](const Product &p) { return packed(p.g, p.slices, p.b); }},
    {by_dnnl, always, [](const Product &p) { return kernels::dnnl_gemm(p.g, p.slices, p.b); }},
    {by_openblas, always, [](const Product &p) { return kernels::openblas_gemm(p.g, p.slices); }},
    {by_small, always, [](const Product &p) { return small(p.g, p.slices); }},
    {"reference_gemm", always, [](const Product &p) { return reference(p.g, p.slices); }},
};

// Do more rows of A than the first cache has room for begin at the same place of a page? oneDNN copies them then. On
// the EPYC of Zen 4, whose first cache has 8 ways (packed / oneDNN, B constant):
//   12x1024x1024   244 /  221      64x1024x1024  1200 / 1170     512x1024x1024  10200 / 9310
//   24x1024x1024   479 /  438     128x1024x1024  2530 / 2330     512x512x2048   10200 / 9320
//   16x1024x1024   293 /  292     512x512x512    2330 / 2310     512x2048x512    9500 / 9310  short of a page
bool crowded(const Gemm &g, const Thresholds::Products &t) {
  static const int64_t ways = cpu::first_cache_ways();
  return ways > 0 && ways < t.tile_rows && g.m > ways && g.lda % 1024 == 0;
}

// What is alike on all of them; measured on the EPYC, microseconds of small / packed / OpenBLAS / oneDNN (packed where
// B is constant) for m x n x k; N, T: as stored, transposed.
//   B constant     1x256x256 NN       2.3    2.4    2.4    2.8  ours without its 0.3 a call
//                  32x128x784 NN     55.0   54.6   69.2   55.4
//                  1024^3 NN        25124  19501  21829  19373
//                  1x1024x1024 NN    55.3   44.8   53.1   48.2
//                  1x2048x2048 NN     350    350    387    460
//                  2x1024x1024 NN     117   52.5    386   52.0
//                  3x1024x1024 NN     121   75.8    452   63.7
//                  64x16x16 NN       0.31   0.30   0.35   0.57
//                  64x4x32 NN        0.39   0.61   0.54   0.89  few columns: panels would be padding for the most part,
//                  4096x8x3 NN        2.3    7.5    4.9    6.3  and 1x2x8192 would read 16 times the bytes of B
//                  1024x16x4 NN       1.1    2.0    1.7    1.9
//                  4x2x8192 NN        7.8    1.8    4.1   11.0  and vectors of columns would be mostly empty: packed
//                                                               are whole columns, for dot products
//   not, NN        64x1024x1024      1266      -   1677   1389
//                  256x1024x1024     6037      -   5544   5040  B past the L2 and many rows: oneDNN
//                  512x1024x256      2660      -   2650   2460
//                  32x10x84          0.76      -   0.82   1.01
//                  32x2x1000         5.36      -   1.68   9.13
//   not, NT        4x1024x1024        138      -    703    186
//                  4x256x256          8.2      -   4.98   10.2
//                  4x384x256         12.5      -   25.4   15.1
//                  8x512x512         54.3      -   96.7   59.2
//                  64x256x256         216      -   89.9   78.0
//                  128x128x10         3.8      -    4.9    3.8  short rows: ours turns a few at a time
//                  4x8192x2           7.6      -   10.7   58.6
//                  128x128x64        19.4      -   22.6   19.4
//   not, TN        64x64x64          4.66      -   4.62   5.29
//                  3x8x4096           3.6      -    9.3    9.5
//                  64x10x128         2.28      -   1.77   3.30  OpenBLAS has the vectors along m
//                  784x128x32        57.1      -   69.2   60.7
//                  784x256x128        447      -    507    465
//                  512x2048x800    103780      -  67853  64509
// Where OpenBLAS is not to be had, what is next takes its place.
const char *best(const Gemm &g, bool constant, bool openblas) {
  auto openblas_or = [&](const char *next) { return openblas ? by_openblas : next; };
  const Thresholds::Products &t = thresholds().products;
  double work = static_cast<double>(checked_mul(g.batch, g.m)) * static_cast<double>(g.n) * static_cast<double>(g.k);
  double b = static_cast<double>(g.n) * static_cast<double>(g.k);
  if (g.trans_a) {
    if (g.trans_b) return openblas_or(by_dnnl);
    if (g.n > 8 && g.n < 13 && g.k >= 64) return openblas_or(by_small);
    return work >= t.transposed_work ? by_dnnl : by_small;
  }
  if (constant && few_columns(g)) return by_panels;
  if (!g.trans_b && g.n < 8 && g.k >= 64) return g.n == 1 ? by_small : openblas_or(by_small);
  if (constant) {
    if (g.m > 1 && !g.trans_b && (g.n <= 8 || (g.n <= 16 && g.k <= 4))) return by_small;
    if (t.three_rows && (g.m == 3 || g.m == 4) && b >= 1 << 19) return by_dnnl;
    if (crowded(g, t)) return by_dnnl;
    return g.m >= t.constant_rows && b >= 1 << 18 ? by_dnnl : by_panels;
  }
  if (g.trans_b) {
    if ((g.m >= 16 && g.k <= 128) || (g.m >= 4 && g.k <= 16)) return by_small;
    if (g.m == 1 || work <= 1 << 18) return openblas_or(by_small);
    return g.m <= 8 && b > 1 << 16 ? by_small : by_dnnl;
  }
  if (g.m < t.rows || b < 1 << 18 || work < t.work) return by_small;
  return t.large == by_openblas ? openblas_or(by_dnnl) : t.large;
}

// A batch whose two sides move in different ways: one item at a time.
struct ByItem {
  const Gemm &g;
  std::span<const BatchAxis> axes;
  int64_t slices;
  DType dtype() const { return g.dtype; }
};

template <class F>
std::unique_ptr<Kernel> by_item(const char *name, const ByItem &at, F multiply) {
  int64_t items = 1;
  for (const BatchAxis &axis : at.axes) items = checked_mul(items, axis.size);
  const int64_t slices = std::min(at.slices, items);
  std::vector<BatchAxis> axes(at.axes.begin(), at.axes.end());
  return kernels::make_kernel(name, slices, [=, g = at.g](int64_t slice, const Run &r) noexcept {
    auto [begin, end] = kernels::part(items, slices, slice);
    for (int64_t item = begin; item < end; ++item) {
      const float *a = r.in<float>(0), *b = r.in<float>(1), *bias = g.bias ? r.in<float>(2) : nullptr;
      float *c = r.out<float>(0) + item * g.m * g.n;
      int64_t left = item;
      for (const BatchAxis &axis : axes) {
        a += left % axis.size * axis.step_a;
        b += left % axis.size * axis.step_b;
        left /= axis.size;
      }
      multiply(g, a, b, c);
      for (int64_t i = 0; bias && i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) c[i * g.n + j] += bias[j];
      if (g.epilogue) g.epilogue(c, g.m, g.n, g.n);
    }
  });
}

constexpr Candidate<ByItem> products_by_item[] = {
    {"openblas_by_item", [](const ByItem &) { return kernels::blas::usable(); },
     [](const ByItem &at) {
       return by_item("openblas_by_item", at, [](const Gemm &g, const float *a, const float *b, float *c) noexcept {
         kernels::blas::sgemm(g.trans_a, g.trans_b, g.m, g.n, g.k, 1, a, g.lda, b, g.ldb, 0, c, g.n);
       });
     }},
    {"small_by_item", [](const ByItem &at) { return small_multiplies(at.g); },
     [](const ByItem &at) {
       return by_item("small_by_item", at, [](const Gemm &g, const float *a, const float *b, float *c) noexcept {
         small_of(g)(g.m, g.n, g.k, a, g.lda, b, g.ldb, nullptr, 0, c, g.n);
       });
     }},
    {"reference_by_item", always,
     [](const ByItem &at) {
       return by_item("reference_by_item", at, [](const Gemm &g, const float *a, const float *b, float *c) noexcept {
         multiply_plainly(g, a, b, nullptr, c, g.m, g.n, g.n);
       });
     }},
};

}  // namespace

double product_microseconds(const Gemm &g) {
  double m = static_cast<double>(g.m), n = static_cast<double>(g.n), k = static_cast<double>(g.k);
  double batch = static_cast<double>(g.batch), flops = 2 * m * n * k, bytes = 4 * (m * k + k * n + m * n);
  return batch * work_microseconds(flops, bytes);
}

int64_t product_slices(const Site &site, const Gemm &given) {
  Gemm g = kernels::dense(given);
  int64_t parts = std::max(checked_mul(g.batch, g.m), (g.n + kernels::packed_panel - 1) / kernels::packed_panel);
  return std::max<int64_t>(1, site.cutting.slices(parts, product_microseconds(g)));
}

std::unique_ptr<Kernel> product(const Site &site, const Gemm &given, int64_t slices, const Constant *b) {
  Gemm g = kernels::dense(given);
  if (g.batch == 0 || g.m == 0 || g.n == 0) return nothing();
  if (g.k == 0) return reference(g, slices);
  bool constant = b && g.stride_b == 0;
  const Product p{g, slices, constant ? b : nullptr};
  const bool openblas = kernels::blas::usable() && site.allows(by_openblas);
  return choose<Product>(site, products, p, best(g, constant && !g.trans_a, openblas));
}

std::unique_ptr<Kernel> product_by_item(const Site &site, const Gemm &g, std::span<const BatchAxis> axes,
                                        int64_t slices) {
  return choose<ByItem>(site, products_by_item, {g, axes, slices});
}

std::vector<std::string> product_switches() {
  auto names = switches<Product>(products), more = switches<ByItem>(products_by_item);
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

}  // namespace dl4::dispatch
