// Chooses kernels of matrix products by their costs.
#include "backend/cpu/dispatch/products.hpp"

#include <algorithm>

#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/dispatch/sliced.hpp"
#include "backend/cpu/kernels/gemm/amx_gemm.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "backend/cpu/kernels/gemm/small_gemm.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "backend/cpu/kernels/rows/rows.hpp"
#include "base/tensor.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Constant;
using kernels::Gemm;
using kernels::GemmCut;
using kernels::Kernel;
using kernels::Run;
using kernels::WeightType;

// Cut of our own kernels: by rows, or by columns if there are too few rows to share B.
kernels::GemmCut cut_own(const Gemm &g, int64_t slices) { return kernels::cut(g, slices, 8, 4, kernels::packed_panel); }

// Size of a block of C computed at once; an epilogue needs it in the L1 cache.
struct Block {
  int64_t rows, cols;
};
constexpr int64_t block_floats = 4096;

// For kernels that pass over all of B for a few rows.
Block whole_rows(const Gemm &g, const kernels::GemmPart &p) {
  return {g.epilogue ? std::max<int64_t>(8, block_floats / p.cols() / 8 * 8) : p.rows(), p.cols()};
}

// For kernels that pass over all rows for a panel of B: as many rows of A as fit the L2 cache, or the L1 cache if B is
// short.
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

// Calls f(a, b, bias, c, rows, cols, first column) for the blocks of a slice, then the epilogue for each.
template <class F>
void each_block(const Gemm &g, const kernels::GemmPart &p, Block (*size)(const Gemm &, const kernels::GemmPart &),
                const Run &r, F f) noexcept {
  if (p.rows() == 0 || p.cols() == 0) return;
  const Block most = size(g, p);
  const float *bias = g.bias ? r.in<float>(2) : nullptr;
  for (int64_t item = p.item0; item < p.item1; ++item)
    for (int64_t row = p.row0; row < p.row1; row += most.rows)
      for (int64_t col = p.col0; col < p.col1; col += most.cols) {
        int64_t rows = std::min(most.rows, p.row1 - row), cols = std::min(most.cols, p.col1 - col);
        const float *a = r.in<float>(0) + item * g.stride_a + (g.trans_a ? row : row * g.lda);
        const float *b = r.in<float>(1) + item * g.stride_b + (g.trans_b ? col * g.ldb : col);
        float *c = r.out<float>(0) + item * g.stride_c + row * g.ldc + col;
        f(a, b, bias ? bias + col : nullptr, c, rows, cols, col);
        if (g.epilogue) g.epilogue(c, rows, cols, g.ldc);
      }
}

bool small_multiplies(const Gemm &g) { return !(g.trans_a && g.trans_b); }
auto small_of(const Gemm &g) {
  return g.trans_a ? kernels::small_gemm_at : g.trans_b ? kernels::small_gemm_bt : kernels::small_gemm;
}

// As many rows of A as fit the L2 cache beside B, since two kernels read them.
Block chunks_of_rows(const Gemm &g, const kernels::GemmPart &p) {
  return {std::min(whole_rows(g, p).rows, std::max<int64_t>(72, (1 << 15) / g.k / 24 * 24)), p.cols()};
}

// B as it is stored, but for the last columns, which are packed one after the other in each run for dot products.
std::unique_ptr<Kernel> unpacked(const char *name, const Gemm &g, int64_t slices, int64_t last) {
  auto cut = cut_own(g, g.by_row ? 1 : slices);
  const int64_t each = round_up(checked_mul(last, g.k), 16), first = g.n - last;
  auto run = [g, cut, first, each](int64_t slice, const Run &r) noexcept {
    auto multiply = small_of(g);
    const int64_t at_once = g.by_row ? 1 : g.m;
    float *columns = static_cast<float *>(r.scratch) + slice * each;
    const float *packed = nullptr;  // where the columns come from
    auto block = [&](auto *a, auto *b, auto *bias, float *c, int64_t rows, int64_t cols, int64_t col) {
      const int64_t n = std::clamp<int64_t>(first - col, 0, cols);
      for (int64_t i = 0; n > 0 && i < rows; i += at_once)
        multiply(std::min(at_once, rows - i), n, g.k, a + i * (g.trans_a ? 1 : g.lda), g.lda, b, g.ldb, bias, 0,
                 c + i * g.ldc, g.ldc);
      if (n == cols) return;
      if (packed != b + n) {
        const int64_t dims[2] = {cols - n, g.k}, from[2] = {1, g.ldb}, to[2] = {g.k, 1};
        kernels::copy_strided(sizeof(float), 2, dims, b + n, from, columns, to);
        packed = b + n;
      }
      kernels::dot_gemm(rows, cols - n, g.k, a, g.lda, columns, g.k, bias ? bias + n : nullptr, 0, c + n, g.ldc);
    };
    each_block(g, cut.part_of(g, slice), first == g.n || first == 0 ? whole_rows : chunks_of_rows, r, block);
  };
  return kernels::make_kernel(name, cut.slices, run, checked_mul(cut.slices, each, 4));
}

// Of the last columns alone.
std::shared_ptr<const kernels::PackedFloats> packed_columns(const Gemm &g, const Constant &b, int64_t last) {
  auto form = b.packed(text("columns ", g.k, 'x', last, " of ", g.n, ' ', g.ldb, g.trans_b ? " transposed" : ""), [&] {
    auto columns = std::make_shared<const kernels::PackedFloats>(checked_mul(g.k, last));
    int64_t dims[2] = {last, g.k}, from[2] = {g.trans_b ? g.ldb : 1, g.trans_b ? 1 : g.ldb}, to[2] = {g.k, 1};
    kernels::copy_strided(sizeof(float), 2, dims, b.data + (g.n - last) * from[0], from, columns->floats(), to);
    return columns;
  });
  return std::static_pointer_cast<const kernels::PackedFloats>(form);
}

// The joinable operation of a product by_row with few rows and columns.
std::shared_ptr<const kernels::RowStep> row_step(const Gemm &g, const std::shared_ptr<const kernels::Packed> &panels,
                                                 const kernels::Function &then) {
  const bool fits = g.by_row && g.k <= kernels::most_row_sources && kernels::are_row_channels(g.n);
  if (!fits || (g.epilogue && !then.any)) return nullptr;
  kernels::RowStep s{.does = kernels::RowStep::Does::product, .rows = g.m, .in = g.k, .out = g.n, .then = then};
  s.panels = std::static_pointer_cast<const kernels::PackedFloats>(panels);
  s.bias = g.bias, s.items = g.batch;
  return std::make_shared<const kernels::RowStep>(std::move(s));
}

// A constant right-hand side in panels, but for the last columns, which are dot products.
std::unique_ptr<Kernel> packed(Gemm g, int64_t slices, const Constant &b, const Machine &m) {
  const auto then = g.epilogue.then;
  const int64_t last = columns_by_dots(g, m), first = g.n - last;
  const bool relu = g.epilogue.relu && last == 0;
  if (relu) g.epilogue = {};  // applied before C is stored
  const auto panels = first > 0 ? kernels::packed_panels(b, g.k, first, g.ldb, g.trans_b) : nullptr;
  const auto columns = last > 0 ? packed_columns(g, b, last) : nullptr;
  auto cut = cut_own(g, slices);
  if (last == 0 && g.m == 1 && g.batch == 1 && cut.slices == 1 && !g.epilogue)
    return kernels::make_kernel("packed_gemm", 1, [g, panels, relu](int64_t, const Run &r) noexcept {
      kernels::packed_gemm(1, g.n, g.k, r.in<float>(0), g.lda, panels->floats(), g.bias ? r.in<float>(2) : nullptr, 0,
                           r.out<float>(0), g.ldc, relu);
    });
  auto run = [g, cut, first, panels, columns, relu](int64_t slice, const Run &r) noexcept {
    auto block = [&](auto *a, auto *, auto *bias, float *c, int64_t rows, int64_t cols, int64_t col) {
      const int64_t n = std::clamp<int64_t>(first - col, 0, cols);
      if (n > 0) {
        kernels::PackedGemm p{rows, n, g.k, a, g.lda, panels->floats() + col * g.k, bias, 0, c, g.ldc};
        p.relu = relu;
        if (g.by_row) p.by_row = g.n, p.column = col;
        kernels::packed_gemm(p);
      }
      if (n < cols)
        kernels::dot_gemm(rows, cols - n, g.k, a, g.lda, columns->floats() + (col + n - first) * g.k, g.k,
                          bias ? bias + n : nullptr, 0, c + n, g.ldc);
    };
    each_block(g, cut.part_of(g, slice), first == 0 ? whole_rows : whole_panels, r, block);
  };
  auto kernel = kernels::make_kernel("packed_gemm", cut.slices, run);
  if (last == 0 && cut.slices == 1) kernel->rows = row_step(g, panels, then);
  return kernel;
}

// Few columns of A transposed, as the gradient of a Dense of few units: the product with both sides exchanged, whose
// vectors lie along the rows of A as it is stored, and its transpose.
bool turns(const Gemm &g) { return g.trans_a && !g.trans_b && g.n <= 8 && g.m > g.n && g.batch == 1 && !g.by_row; }
Gemm turned(const Gemm &g) {
  Gemm t;
  t.m = g.n, t.n = g.m, t.k = g.k, t.lda = g.ldb, t.ldb = g.lda, t.ldc = g.m;
  t.trans_a = g.n > 1 || g.ldb > 1;
  return t;
}
double turned_gemm_cycles(const Gemm &g, const Machine &m) {
  return small_gemm_cycles(turned(g), m) + (g.n > 1 ? 1.5 * real(g.m, g.n) : 0);
}
std::unique_ptr<Kernel> turned(const Gemm &g, int64_t slices) {
  const GemmCut cut = cut_own(g, slices);
  const bool direct = g.n == 1 && g.ldc == 1;
  const int64_t each = direct ? 0 : round_up(checked_mul(g.m, g.n), 16);
  auto run = [g, t = turned(g), cut, each, direct](int64_t slice, const Run &r) noexcept {
    float *columns = static_cast<float *>(r.scratch) + slice * each;
    auto block = [&](auto *a, auto *b, auto *bias, float *c, int64_t rows, int64_t, int64_t) {
      float *to = direct ? c : columns;
      for (int64_t j = 0; bias && j < g.n; ++j) std::fill_n(to + j * rows, rows, bias[j]);
      small_of(t)(g.n, rows, g.k, b, g.ldb, a, g.lda, bias ? to : nullptr, rows, to, rows);
      const int64_t dims[2] = {rows, g.n}, from[2] = {1, rows}, apart[2] = {g.ldc, 1};
      if (!direct) kernels::copy_strided(sizeof(float), 2, dims, columns, from, c, apart);
    };
    each_block(g, cut.part_of(g, slice), whole_rows, r, block);
  };
  return kernels::make_kernel("turned_gemm", cut.slices, run, checked_mul(cut.slices, each, 4));
}

// A narrow constant right-hand side. The rows of A that are quantized at once fit the L2 cache.
std::unique_ptr<Kernel> narrow(Gemm g, int64_t slices, const Constant &b, WeightType type) {
  const bool relu = g.epilogue.relu;
  if (relu) g.epilogue = {};  // applied before C is stored
  auto form = kernels::narrow_weights(b, type, g.k, g.n, g.ldb, g.trans_b);
  const kernels::GemmCut cut = cut_own(g, g.by_row ? 1 : slices);
  const int64_t once = g.by_row ? 1 : std::min<int64_t>(g.m, 72);
  const int64_t bytes = form->is_integer() ? round_up(kernels::narrow_scratch(once, g.k), 64) : 0;
  auto run = [g, cut, form, once, bytes, relu](int64_t slice, const Run &r) noexcept {
    const kernels::GemmPart p = cut.part_of(g, slice);
    void *codes = static_cast<std::byte *>(r.scratch) + slice * bytes;
    const float *bias = g.bias ? r.in<float>(2) : nullptr;
    const int64_t panel = kernels::packed_panel;
    // bounded: of at most 4096 numbers
    const int64_t most = g.epilogue ? std::max(panel, block_floats / once / panel * panel) : p.cols();
    for (int64_t item = p.item0; item < p.item1; ++item)
      for (int64_t row = p.row0; row < p.row1; row += once) {
        const int64_t rows = std::min(once, p.row1 - row);
        const float *a = r.in<float>(0) + item * g.stride_a + row * g.lda;
        float *c = r.out<float>(0) + item * g.stride_c + row * g.ldc;
        kernels::narrow_rows(*form, rows, a, g.lda, codes);
        for (int64_t col = p.col0; col < p.col1; col += most) {
          const int64_t cols = std::min(most, p.col1 - col);
          kernels::narrow_gemm(*form, rows, col, cols, a, g.lda, codes, bias ? bias + col : nullptr, 0, c + col, g.ldc,
                               relu);
          if (g.epilogue) g.epilogue(c + col, rows, cols, g.ldc);
        }
      }
  };
  const std::string name(kernels::weight_type_names[static_cast<size_t>(type)]);
  return kernels::make_kernel(name + "_gemm", cut.slices, run, checked_mul(cut.slices, bytes));
}

void multiply_plainly(const Gemm &g, const float *a, const float *b, const float *bias, float *c, int64_t rows,
                      int64_t cols, int64_t ldc) noexcept {
  constexpr int64_t most = 64;
  double sums[most];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t col = 0; col < cols; col += most) {
      const int64_t n = std::min(most, cols - col);
      for (int64_t j = 0; j < n; ++j) sums[j] = bias ? bias[col + j] : 0;
      for (int64_t l = 0; l < g.k; ++l) {
        const double x = a[g.trans_a ? l * g.lda + i : i * g.lda + l];
        for (int64_t j = 0; j < n; ++j) sums[j] += x * b[g.trans_b ? (col + j) * g.ldb + l : l * g.ldb + col + j];
      }
      for (int64_t j = 0; j < n; ++j) c[i * ldc + col + j] = static_cast<float>(sums[j]);
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

// With by_row, the choice is that for one row.
Product product_at(const Gemm &g, int64_t slices, const Constant *b, const Machine &machine) {
  if (g.stride_b != 0) b = nullptr;
  Product p{g, slices, b, machine, g};
  if (g.by_row) p.priced.m = p.priced.batch = 1;
  return p;
}

// Excludes constants that are not weights.
template <WeightType type>
bool is_narrow(const Product &p) {
  return p.weights == type && p.b && p.b->forms && !p.g.trans_a;
}
double narrow_cost(const Product &p) { return cost<packed_gemm_cycles>(p) / 2; }
template <WeightType type>
std::unique_ptr<Kernel> make_narrow(const Product &p) {
  return narrow(p.g, p.slices, *p.b, type);
}

// Six products by tiles, each 16 times as fast as multiply-adds, are 2.6 times as fast, minus packing the parts, which
// small products do not recover. Computed, not measured: no machine at hand had tiles.
double tile_part(int tiles) { return tiles < kernels::most_tile_products ? 0.35 : 0.55; }
constexpr Candidate<Product> own_products[] = {
    {"amx_gemm", [](const Product &p) { return p.tiles > 0 && p.weights == WeightType::float32; },
     [](const Product &p) {
       return (p.b ? cost<packed_gemm_cycles>(p) : cost<blocked_gemm_cycles>(p)) * tile_part(p.tiles);
     },
     [](const Product &p) { return kernels::blocked_gemm(p.g, p.slices, p.b, p.tiles); }},
    {"bfloat16_gemm", is_narrow<WeightType::bfloat16>, narrow_cost, make_narrow<WeightType::bfloat16>},
    {"int8_gemm", is_narrow<WeightType::int8>, narrow_cost, make_narrow<WeightType::int8>},
    {"int4_gemm", is_narrow<WeightType::int4>, narrow_cost, make_narrow<WeightType::int4>},
    {"packed_gemm", [](const Product &p) { return p.b && !p.g.trans_a; }, cost<packed_gemm_cycles>,
     [](const Product &p) { return packed(p.g, p.slices, *p.b, p.machine); }},
    {"blocked_gemm", [](const Product &p) { return (!p.b || p.g.trans_a) && !p.g.by_row; }, cost<blocked_gemm_cycles>,
     [](const Product &p) {
       const bool few = columns_by_dots(p.g, p.machine) == p.g.n && !p.g.trans_a && !p.g.trans_b;
       return few ? unpacked("blocked_gemm, by columns", p.g, p.slices, p.g.n) : kernels::blocked_gemm(p.g, p.slices);
     }},
    {"small_gemm", [](const Product &p) { return small_multiplies(p.g); }, cost<small_gemm_cycles>,
     [](const Product &p) {
       const int64_t last = p.g.trans_b ? 0 : columns_by_dots(p.g, p.machine);
       return unpacked("small_gemm", p.g, p.slices, last < p.g.n ? last : 0);
     }},
    {"turned_gemm", [](const Product &p) { return turns(p.g); }, cost<turned_gemm_cycles>,
     [](const Product &p) { return turned(p.g, p.slices); }},
    {"reference_gemm", always, Candidate<Product>::last_resort,
     [](const Product &p) { return reference(p.g, p.slices); }},
};

std::span<const Candidate<Product>> products() {
  static const auto all = with_libraries<Product>(own_products, &Library::products);
  return all;
}

// A batch with irregular strides, computed item by item.
struct ByItem {
  const Gemm &g;
  std::span<const BatchAxis> axes;
  int64_t slices;
  const Machine &machine;
  int tiles = 0;  // number of part products: tile_products()
  DType dtype() const { return g.dtype; }
};

// The items of a batch, cut into slices.
struct ItemCut {
  int64_t items = 1, slices;
  std::vector<BatchAxis> axes;

  explicit ItemCut(const ByItem &at) : axes(at.axes.begin(), at.axes.end()) {
    for (const BatchAxis &axis : axes) items = checked_mul(items, axis.size);
    slices = std::min(at.slices, items);
  }
  // f(a, b, c) for the items of a slice.
  template <class F>
  void each(int64_t slice, const Run &r, const Gemm &g, const F &f) const noexcept {
    auto [begin, end] = kernels::part(items, slices, slice);
    for (int64_t item = begin; item < end; ++item) {
      const float *a = r.in<float>(0), *b = r.in<float>(1);
      int64_t left = item;
      for (const BatchAxis &axis : axes) {
        a += left % axis.size * axis.step_a;
        b += left % axis.size * axis.step_b;
        left /= axis.size;
      }
      f(a, b, r.out<float>(0) + item * g.m * g.n);
    }
  }
};

// C = A B for one item, C dense.
using MultiplyItem = void (*)(const Gemm &g, const float *a, const float *b, float *c) noexcept;

std::unique_ptr<Kernel> by_item(const char *name, const ByItem &at, MultiplyItem multiply) {
  const ItemCut cut(at);
  return kernels::make_kernel(name, cut.slices, [cut, multiply, g = at.g](int64_t slice, const Run &r) noexcept {
    cut.each(slice, r, g, [&](const float *a, const float *b, float *c) {
      multiply(g, a, b, c);
      if (g.bias) kernels::add_bias(r.in<float>(2), c, g.m, g.n, g.n);
      if (g.epilogue) g.epilogue(c, g.m, g.n, g.n);
    });
  });
}

// By panels that each item packs, or by tiles.
std::unique_ptr<Kernel> blocks_by_item(const char *name, const ByItem &at, int tiles) {
  const ItemCut cut(at);
  Gemm one = at.g;
  one.batch = 1, one.stride_c = 0;
  std::shared_ptr<const Kernel> product = kernels::blocked_gemm(one, 1, nullptr, tiles);
  const int64_t each = round_up(product->scratch, 64);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    cut.each(slice, r, one, [&](const float *a, const float *b, float *c) {
      void *args[4] = {const_cast<float *>(a), const_cast<float *>(b), one.bias ? r.args[2] : c, c};
      product->run(0, {args, one.bias ? 3 : 2, static_cast<std::byte *>(r.scratch) + slice * each, nullptr, r.report});
    });
  };
  return kernels::make_kernel(name, cut.slices, run, checked_mul(cut.slices, each));
}

template <double (*cycles)(const Gemm &, const Machine &)>
double item_cost(const ByItem &at) {
  return at.machine.microseconds(cycles(at.g, at.machine)) * real(ItemCut(at).items);
}

constexpr Candidate<ByItem> own_products_by_item[] = {
    {"amx_by_item", [](const ByItem &at) { return at.tiles > 0; },
     [](const ByItem &at) { return item_cost<blocked_gemm_cycles>(at) * tile_part(at.tiles); },
     [](const ByItem &at) { return blocks_by_item("amx_by_item", at, at.tiles); }},
    {"blocked_by_item", [](const ByItem &at) { return !at.g.by_row; }, item_cost<blocked_gemm_cycles>,
     [](const ByItem &at) { return blocks_by_item("blocked_by_item", at, 0); }},
    {"small_by_item", [](const ByItem &at) { return small_multiplies(at.g); }, item_cost<small_gemm_cycles>,
     [](const ByItem &at) {
       return by_item("small_by_item", at, [](const Gemm &g, const float *a, const float *b, float *c) noexcept {
         const int64_t rows = g.by_row ? 1 : g.m;
         for (int64_t i = 0; i < g.m; i += rows)
           small_of(g)(rows, g.n, g.k, a + i * (g.trans_a ? 1 : g.lda), g.lda, b, g.ldb, nullptr, 0, c + i * g.n, g.n);
       });
     }},
    {"reference_by_item", always, Candidate<ByItem>::last_resort,
     [](const ByItem &at) {
       return by_item("reference_by_item", at, [](const Gemm &g, const float *a, const float *b, float *c) noexcept {
         multiply_plainly(g, a, b, nullptr, c, g.m, g.n, g.n);
       });
     }},
};

}  // namespace

int tile_products(const Site &site, std::string_view kernel, int64_t m, int64_t n, int64_t k) {
  const bool large = m >= 64 && n >= 64 && k >= 64 && real(m, n, k) >= 1 << 24;
  // The first use of tiles requests them from the system.
  if (!large || site.cutting.by_row || !site.allows(kernel) || !kernels::has_tiles()) return 0;
  return site.math == kernels::Math::float32x3 ? 3 : kernels::most_tile_products;
}

double product_microseconds(const Gemm &g) {
  constexpr double in_cache = 1 << 20, cached = 0.4;  // what the L2 cache holds is read again in less time
  double m = static_cast<double>(g.m), n = static_cast<double>(g.n), k = static_cast<double>(g.k);
  double batch = static_cast<double>(g.batch), flops = 2 * m * n * k, bytes = 4 * (m * k + k * n + m * n);
  return batch * work_microseconds(flops, bytes <= in_cache ? bytes * cached : bytes);
}

int64_t product_slices(const Site &site, const Gemm &given) {
  Gemm g = kernels::dense(given);
  int64_t parts = std::max(checked_mul(g.batch, g.m), (g.n + kernels::packed_panel - 1) / kernels::packed_panel);
  // Each slice may lay out the other side: it must have rows, or columns, that are worth it.
  constexpr int64_t least = 256;
  const int64_t long_parts = checked_mul(g.batch, std::max<int64_t>(1, std::max(g.m, g.n) / least));
  const double us = product_microseconds(g);
  return std::max({int64_t{1}, site.cutting.slices(parts, us), site.cutting.short_slices(long_parts, us)});
}

namespace {

// Without tiles, chosen by the shape only: kernels of rounded operands sum in different orders.
std::unique_ptr<Kernel> product_of_rounded(const Site &site, Gemm g, int64_t slices) {
  const bool by_tiles = tile_products(site, "amx_gemm", g.m, g.n, g.k) > 0;
  if (!by_tiles && g.m >= 8 && g.n >= 8 && g.k >= 8 && site.allows("bf16_gemm"))
    return kernels::blocked_gemm(g, slices);
  g.bfloat16 = false;
  if (by_tiles) return kernels::blocked_gemm(g, slices, nullptr, 1);
  return with_rounded(site, product(site, g, slices));
}

// Whether rows are rounded too, for bfloat16 weights on processors that multiply bfloat16. With by_row, a row has the
// same bits as alone; otherwise one or two rows are not rounded, which is as fast.
bool rounds_rows(const Site &site, const Gemm &g, const Constant *b) {
  constexpr int64_t least_rows = 3, least_side = 64;
  return site.weights == WeightType::bfloat16 && b && b->forms && g.stride_b == 0 && !g.trans_a &&
         (g.by_row || checked_mul(g.batch, g.m) >= least_rows) && std::min(g.n, g.k) >= least_side &&
         !site.cutting.portable && site.allows("bf16_gemm") && cpu::has_bfloat16_products();
}

}  // namespace

std::unique_ptr<Kernel> product(const Site &site, const Gemm &given, int64_t slices, const Constant *b) {
  Gemm g = kernels::dense(given);
  if (g.batch == 0 || g.m == 0 || g.n == 0) return nothing();
  if (g.k == 0) return reference(g, slices);
  if (g.bfloat16) return product_of_rounded(site, g, slices);
  g.by_row = site.cutting.by_row;
  const Machine &m = machine(site.cutting);
  Product at = product_at(g, slices, b, m);
  const int64_t rows = g.by_row ? 1 : checked_mul(g.batch, g.m);
  if (rounds_rows(site, g, b)) {
    g.bfloat16 = true;
    return kernels::blocked_gemm(g, slices, b);
  }
  at.weights = narrowed(site.weights, rows, g.n, g.k, m);
  at.tiles = tile_products(site, "amx_gemm", g.m, g.n, g.k);
  return choose<Product>(site, products(), at);
}

std::vector<Price> product_prices(const Gemm &given, bool constant, const Machine &machine) {
  const Gemm g = kernels::dense(given);
  const Constant b{nullptr};
  Product at = product_at(g, 1, constant ? &b : nullptr, machine);
  at.tiles = tile_products({}, "amx_gemm", g.m, g.n, g.k);
  return prices<Product>(products(), at);
}

std::unique_ptr<Kernel> product_by_item(const Site &site, const Gemm &given, std::span<const BatchAxis> axes,
                                        int64_t slices) {
  Gemm g = given;
  g.by_row = site.cutting.by_row;
  const int tiles = g.bfloat16 ? 0 : tile_products(site, "amx_by_item", g.m, g.n, g.k);
  auto kernel = choose<ByItem>(site, own_products_by_item, {g, axes, slices, machine(site.cutting), tiles});
  return g.bfloat16 ? with_rounded(site, std::move(kernel)) : std::move(kernel);
}

std::vector<std::string> product_switches() {
  auto names = switches<Product>(products()), more = switches<ByItem>(own_products_by_item);
  names.insert(names.end(), more.begin(), more.end());
  names.emplace_back("bf16_gemm");
  return names;
}

}  // namespace dl4::dispatch
