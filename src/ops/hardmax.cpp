// hardmax: one-hot of the first maximum.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

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

}  // namespace

Id hardmax(Emit &e, Id x, int axis) { return e.value(make<HardmaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
