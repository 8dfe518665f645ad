// sparsemax along one axis: projection onto the simplex.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct SparsemaxGradOp final : OpOf<SparsemaxGradOp, "sparsemax_grad", attributes::SparsemaxGrad> {
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape(op, src[0].shape, src[1].shape)}};
  }
  // Linear in dy; piecewise constant in y, which selects the support.
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, g.e.value(make<SparsemaxGradOp>(axis), {g.diff_dst(), g.src(1)}));
    g.stop(1);
  }
};

struct SparsemaxOp final : OpOf<SparsemaxOp, "sparsemax", attributes::Sparsemax> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    g.set(0, g.e.value(make<SparsemaxGradOp>(axis), {g.diff_dst(), g.dst()}));
  }
};

}  // namespace

Id sparsemax(Emit &e, Id x, int axis) { return e.value(make<SparsemaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
