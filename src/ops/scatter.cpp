// scatter_add and row_sums: rows added up by number, as a table or as the rows that came.
#include "ops/scatter.hpp"
#include "ops/op.hpp"

#include "backend/cpu/kernels/movement/movement.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// One row of the table (source 2) for each id (source 1).
void want_rows(const char *op, Operands src) {
  want_float(op, src[0]);
  want_index("ids", src[1]);
  const Shape &table = src[2].shape;
  if (table.rank() < 1) fail(Code::shape_mismatch, op, " expects a table of rows, got ", table);
  same_shape(op, src[0].shape, src[1].shape.joined(table.last(table.rank() - 1)));
}

// The same sums as scatter_add's, in the order of their ids and without the rows that no id names.
struct RowSumsOp final : NotDifferentiable<RowSumsOp> {
  std::string_view name() const override { return "row_sums"; }
  std::vector<Operand> infer(Operands src) const override {
    want_rows("row_sums", src);
    int64_t n = src[1].shape.known() ? src[1].shape.elements() : free_dim;
    const Shape &table = src[2].shape;
    return {{DType::i64, {n}}, {DType::f32, Shape{n}.joined(table.last(table.rank() - 1))}};
  }
  bool reads(int src) const override { return src < 2; }

  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    DType type = site.src[1].dtype;
    int64_t n = site.dst[0].shape[0], rows = site.src[2].shape[0];
    int64_t width = site.dst[1].shape.elements(1, site.dst[1].shape.rank());
    int64_t scratch = round_up(checked_mul(n, 8), 64);
    return kernels::make_kernel(
        "row_sums", n ? 1 : 0,
        [=](int64_t, const Run &r) noexcept {
          auto *keys = static_cast<uint64_t *>(r.scratch);
          auto *segments = reinterpret_cast<int64_t *>(static_cast<std::byte *>(r.scratch) + scratch);
          kernels::row_sums(r.in<float>(0), width, type, r.in<void>(1), n, rows, keys, segments, r.out<float>(1),
                            r.out<int64_t>(0), r.report);
        },
        checked_add(scratch, checked_mul(n + 1, 8)));
  }
};

}  // namespace

std::vector<Operand> ScatterAddOp::infer(Operands src) const {
  want_rows("scatter_add", src);
  return {{DType::f32, src[2].shape}};
}

void ScatterAddOp::gradient(Gradient &g) const {
  if (g.wants(0)) g.set(0, gather(g.e, g.diff_dst(), g.src(1)));
  g.stop(1);
}

// Each slice looks at all ids in their order and adds what falls into its part of the table, so the bits don't depend
// on the cut. Ids out of range were the forward step's fault.
std::unique_ptr<kernels::Kernel> ScatterAddOp::kernel(const Site &site) const {
  const Shape &table = site.dst[0].shape;
  DType type = site.src[1].dtype;
  int64_t ids = site.src[1].shape.elements(), rows = table[0], width = table.elements(1, table.rank());
  double us = us_per_byte * static_cast<double>(checked_mul(4, width, checked_add(rows, ids, ids)));
  auto add = [=](const Run &r, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    kernels::scatter_add(r.in<float>(0), width, type, r.in<void>(1), ids, row0, row1, col0, col1, r.out<float>(0));
  };
  constexpr int64_t line = 16;
  if (int64_t by_columns = site.cutting.slices(width / line, us); by_columns >= site.cutting.slices(rows, us)) {
    return sliced(
        "scatter_columns", site, width, us,
        [=](int64_t begin, int64_t end, const Run &r) { add(r, 0, rows, begin, end); }, line);
  }
  return sliced("scatter_rows", site, width ? rows : 0, us,
                [=](int64_t begin, int64_t end, const Run &r) { add(r, begin, end, 0, width); });
}

Id scatter_add(Emit &e, Id rows, Id ids, Id table) {
  return e.value(std::make_shared<ScatterAddOp>(), {rows, ids, table});
}

RowSums row_sums(Emit &e, Id rows, Id ids, Id table) {
  auto dst = e.step(std::make_shared<RowSumsOp>(), {rows, ids, table});
  return {dst[0], dst[1]};
}

}  // namespace dl4::ops
