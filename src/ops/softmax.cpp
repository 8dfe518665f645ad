// softmax and log_softmax along one axis.
#include "ops/softmax.hpp"
#include "ops/attributes.hpp"
#include "ops/op.hpp"

#include "ops/differentiate.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// dx from dy and y.
struct SoftmaxGradOp final : OpOf<SoftmaxGradOp, "softmax_grad", attributes::SoftmaxGrad> {
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape(op, src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    differentiate_as(g, [this](Emit &e, const std::vector<Id> &src) {
      const auto sum = [&](Id x) { return reduce(e, Reduce::sum, x, {axis}, true); };
      const Id dy = src[0], y = src[1];
      return log ? sub(e, dy, mul(e, unary(e, Unary::exp, y), sum(dy))) : mul(e, y, sub(e, dy, sum(mul(e, dy, y))));
    });
  }
  int overwrites(int) const override { return 0; }
};

}  // namespace

std::vector<Operand> SoftmaxOp::infer(Operands src) const {
  want_float(log ? "log_softmax" : "softmax", src[0]);
  return {src[0]};
}

void SoftmaxOp::gradient(Gradient &g) const {
  g.set(0, g.e.value(make<SoftmaxGradOp>(log, axis), {g.diff_dst(), g.dst()}));
}

Id softmax(Emit &e, Id x, int axis) { return e.value(std::make_shared<SoftmaxOp>(false, e.shape(x).axis(axis)), {x}); }
Id log_softmax(Emit &e, Id x, int axis) {
  return e.value(std::make_shared<SoftmaxOp>(true, e.shape(x).axis(axis)), {x});
}

}  // namespace dl4::ops
