// hardmax: one-hot of the first maximum.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct HardmaxOp final : OpOf<HardmaxOp, attributes::Hardmax> {
  using OpOf::OpOf;
  std::string_view name() const override { return "hardmax"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("hardmax", src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    if (!g.wants(0) || g.diff_dst() == none) return;
    Emit &e = g.e;
    Id p = softmax(e, g.src(0), axis), weighed = mul(e, p, g.diff_dst());
    g.set(0, sub(e, weighed, mul(e, p, reduce(e, Reduce::sum, weighed, {axis}, true))));
  }
};

}  // namespace

Id hardmax(Emit &e, Id x, int axis) { return e.value(std::make_shared<HardmaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
