// pick: the element of each row at its label.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

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

}  // namespace

Id pick(Emit &e, Id x, Id labels, Id valid) { return e.value(make<PickOp>(), {x, labels, valid}); }

}  // namespace dl4::ops
