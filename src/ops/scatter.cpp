// gather: rows of a table by index. pick: the element of each row at its label. scatter_add and row_sums: rows summed
// by id, as a table or as the distinct rows.
#include "ops/scatter.hpp"

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct GatherOp final : OpOf<GatherOp, "gather", attributes::Gather> {
  bool takes_strings() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &table = src[0].shape;
    if (table.rank() < 1) fail(Code::shape_mismatch, "gather expects a table of rows, got ", table);
    want_index("ids", src[1]);
    return {{src[0].dtype, src[1].shape.joined(table.last(table.rank() - 1))}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, scatter_add(g.e, g.diff_dst(), g.src(1), g.src(0)));
    g.stop(1);
  }
};

struct PickGradOp final : OpOf<PickGradOp, "pick_grad", attributes::PickGrad> {
  std::vector<Operand> infer(Operands src) const override { return {{DType::f32, src[3].shape}}; }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, pick(g.e, g.diff_dst(), g.src(1), g.src(2)));
    g.stop(1);
  }
  bool reads(int src) const override { return src < 3; }
};

struct PickOp final : OpOf<PickOp, "pick", attributes::Pick> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    want_index("class numbers", src[1]);
    const Shape &x = src[0].shape;
    if (x.rank() != 2) fail(Code::shape_mismatch, "pick expects rows (N, C), got ", x);
    if (x[1] == 0 && x[0] > 0) fail(Code::shape_mismatch, "expected at least one class, got scores of shape ", x);
    if (src[1].shape.rank() != 1 || !compatible(src[1].shape, x.first(1)))
      fail(Code::shape_mismatch, "expected a class number for each row of ", x, ", got ", src[1].shape);
    Shape y = same_shape(op, x.first(1), src[1].shape);
    if (src[2].present) {
      want_type("the flags of pick", src[2], DType::boolean);
      y = same_shape(op, y, src[2].shape);
    }
    return {{DType::f32, y}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, g.e.value(make<PickGradOp>(), {g.diff_dst(), g.src(1), g.src(2), g.src(0)}));
    g.stop(1);
  }
};

// One row of the table's shape (source 2) for each id (source 1).
void want_rows(const char *op, Operands src) {
  want_float(op, src[0]);
  want_index("ids", src[1]);
  const Shape &table = src[2].shape;
  if (table.rank() < 1) fail(Code::shape_mismatch, op, " expects a table of rows, got ", table);
  same_shape(op, src[0].shape, src[1].shape.joined(table.last(table.rank() - 1)));
}

// The sums of scatter_add for the distinct ids only, in id order.
struct RowSumsOp final : NotDifferentiable<RowSumsOp, "row_sums", attributes::RowSums> {
  std::vector<Operand> infer(Operands src) const override {
    want_rows(op, src);
    int64_t n = src[1].shape.known() ? src[1].shape.elements() : free_dim;
    const Shape &table = src[2].shape;
    return {{DType::i64, {n}}, {DType::f32, Shape{n}.joined(table.last(table.rank() - 1))}};
  }
  bool reads(int src) const override { return src < 2; }
};

}  // namespace

Id gather(Emit &e, Id table, Id ids) { return e.value(make<GatherOp>(), {table, ids}); }

Id pick(Emit &e, Id x, Id labels, Id valid) { return e.value(make<PickOp>(), {x, labels, valid}); }

std::vector<Operand> ScatterAddOp::infer(Operands src) const {
  want_rows("scatter_add", src);
  return {{DType::f32, src[2].shape}};
}

void ScatterAddOp::gradient(Gradient &g) const {
  if (g.wants(0)) g.set(0, gather(g.e, g.diff_dst(), g.src(1)));
  g.stop(1);
}

// Each slice reads all ids in order and adds what belongs to its part of the table, so the bits don't depend on the
// cut. Ids out of range were a fault of the forward step.
Id scatter_add(Emit &e, Id rows, Id ids, Id table) {
  return e.value(std::make_shared<ScatterAddOp>(), {rows, ids, table});
}

RowSums row_sums(Emit &e, Id rows, Id ids, Id table) {
  auto dst = e.step(make<RowSumsOp>(), {rows, ids, table});
  return {dst[0], dst[1]};
}

}  // namespace dl4::ops
