// Along one axis: softmax and log_softmax, sparsemax (the projection onto the simplex), hardmax (one-hot of the first
// maximum) and argmax (its index).
#include "ops/softmax.hpp"

#include "ops/attributes.hpp"
#include "ops/differentiate.hpp"
#include "ops/op.hpp"
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

struct HardmaxOp final : OpOf<HardmaxOp, "hardmax", attributes::Hardmax> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id p = softmax(e, g.src(0), axis), weighed = mul(e, p, g.diff_dst());
    g.set(0, sub(e, weighed, mul(e, p, reduce(e, Reduce::sum, weighed, {axis}, true))));
  }
};

struct ArgmaxOp final : StopsGradients<ArgmaxOp, "argmax", attributes::Argmax> {
  std::vector<Operand> infer(Operands src) const override {
    want_number(op, src[0]);
    const Shape &x = src[0].shape;
    if (x[axis] == 0) fail(Code::shape_mismatch, "argmax over the empty axis ", axis, " of ", x);
    return {{DType::i32, x.without(axis)}};
  }
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

Id sparsemax(Emit &e, Id x, int axis) { return e.value(make<SparsemaxOp>(e.shape(x).axis(axis)), {x}); }

Id hardmax(Emit &e, Id x, int axis) { return e.value(make<HardmaxOp>(e.shape(x).axis(axis)), {x}); }

Id argmax(Emit &e, Id x, int axis) { return e.value(make<ArgmaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
