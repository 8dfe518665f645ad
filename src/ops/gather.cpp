// gather: rows of a table by number.
#include <cstring>

#include "kernels/movement.hpp"
#include "ops/index.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// Zeros in the shape of the table (source 2) with every row of source 0 added to the row that its id says.
//
// Each slice looks at all ids in their order and adds what falls into its part of the table, so the bits don't depend
// on the cut. Ids out of range were the forward step's fault.
class ScatterAddOp final : public Op {
 public:
  std::string_view name() const override { return "scatter_add"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("scatter_add", src[0]);
    return {{DType::f32, src[2].shape}};
  }
  bool reads(int src) const override { return src < 2; }

  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Shape &table = site.dst[0].shape;
    DType type = site.src[1].dtype;
    int64_t ids = site.src[1].shape.elements(), rows = table[0], width = table.elements(1, table.rank());
    double us = us_per_byte * static_cast<double>(4 * width * (rows + 2 * ids));
    auto add = [=](const Run &r, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
      const float *dy = r.src<float>(0);
      float *y = r.dst<float>(3);
      size_t bytes = static_cast<size_t>(col1 - col0) * 4;
      if (col1 - col0 == width) std::memset(y + row0 * width, 0, static_cast<size_t>((row1 - row0) * width) * 4);
      else for (int64_t row = row0; row < row1; ++row) std::memset(y + row * width + col0, 0, bytes);
      for (int64_t i = 0; i < ids; ++i) {
        int64_t id = index_at(type, r.args[1], i);
        if (id >= row0 && id < row1) kernels::axpy(1, dy + i * width + col0, y + id * width + col0, col1 - col0);
      }
    };
    constexpr int64_t line = 16;
    if (int64_t by_columns = site.cutting.slices(width / line, us); by_columns >= site.cutting.slices(rows, us)) {
      return sliced("scatter_columns", site, width, us, [=](int64_t begin, int64_t end, const Run &r) {
        add(r, 0, rows, begin, end);
      }, line);
    }
    return sliced("scatter_rows", site, width ? rows : 0, us, [=](int64_t begin, int64_t end, const Run &r) {
      add(r, begin, end, 0, width);
    });
  }
};

class GatherOp final : public Op {
 public:
  std::string_view name() const override { return "gather"; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &table = src[0].shape;
    if (table.rank() < 1) fail(Code::shape_mismatch, "gather wants a table of rows, got ", table);
    want_index("the ids of gather", src[1]);
    return {{src[0].dtype, src[1].shape.joined(table.last(table.rank() - 1))}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none)
      g.set(0, g.e.value(std::make_shared<ScatterAddOp>(), {g.diff_dst(), g.src(1), g.src(0)}));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Shape &table = site.src[0].shape;
    DType type = site.src[1].dtype;
    int64_t ids = site.src[1].shape.elements(), rows = table[0];
    int64_t row = table.elements(1, table.rank()) * size_of(site.src[0].dtype);
    double us = 3 * us_per_byte * static_cast<double>(ids * row);
    return sliced("gather", site, ids, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::gather_rows(row, r.args[0], rows, type, r.src<std::byte>(1) + begin * size_of(type), end - begin,
                           r.dst<std::byte>(2) + begin * row, r.report);
    });
  }
};

}  // namespace

Id gather(Emit &e, Id table, Id ids) { return e.value(std::make_shared<GatherOp>(), {table, ids}); }

}  // namespace dl4::ops
