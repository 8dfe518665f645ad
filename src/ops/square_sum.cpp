// square_sum: sum of squares in double, for the norm of a block of gradients.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct SquareSumOp final : OpOf<SquareSumOp, attributes::SquareSum> {
  using OpOf::OpOf;
  std::string_view name() const override { return "square_sum"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("square_sum", src[0]);
    return {{DType::f32, {}}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, mul(g.e, g.src(0), scale(g.e, g.diff_dst(), 2)));
  }
};

}  // namespace

Id square_sum(Emit &e, Id x) { return e.value(std::make_shared<SquareSumOp>(), {x}); }

}  // namespace dl4::ops
