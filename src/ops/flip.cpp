// flip: reverses an axis.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct FlipOp final : OpOf<FlipOp, "flip", attributes::Flip> {
  bool takes_strings() const override { return true; }
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  void gradient(Gradient &g) const override { g.set(0, flip(g.e, g.diff_dst(), axis)); }
};

}  // namespace

Id flip(Emit &e, Id x, int axis) { return e.value(make<FlipOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
