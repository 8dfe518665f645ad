// sparsemax along one axis: projection onto the simplex.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct SparsemaxGradOp final : OpOf<SparsemaxGradOp, attributes::SparsemaxGrad> {
  using OpOf::OpOf;
  std::string_view name() const override { return "sparsemax_grad"; }
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape("sparsemax_grad", src[0].shape, src[1].shape)}};
  }
  // Linear in dy; piecewise constant in y, which selects the support.
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, g.e.value(std::make_shared<SparsemaxGradOp>(axis), {g.diff_dst(), g.src(1)}));
    g.stop(1);
  }
};

struct SparsemaxOp final : OpOf<SparsemaxOp, attributes::Sparsemax> {
  using OpOf::OpOf;
  std::string_view name() const override { return "sparsemax"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("sparsemax", src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none)
      g.set(0, g.e.value(std::make_shared<SparsemaxGradOp>(axis), {g.diff_dst(), g.dst()}));
  }
};

}  // namespace

Id sparsemax(Emit &e, Id x, int axis) { return e.value(std::make_shared<SparsemaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
