// square_sum: sum of squares in double, for the norm of a block of gradients.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct SquareSumOp final : OpOf<SquareSumOp, "square_sum", attributes::SquareSum> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {{DType::f32, {}}};
  }
  void gradient(Gradient &g) const override { g.set(0, mul(g.e, g.src(0), scale(g.e, g.diff_dst(), 2))); }
};

}  // namespace

Id square_sum(Emit &e, Id x) { return e.value(make<SquareSumOp>(), {x}); }

}  // namespace dl4::ops
