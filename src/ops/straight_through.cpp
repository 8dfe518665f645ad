// straight_through: a value whose gradient goes to another value.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct StraightThroughOp final : OpOf<StraightThroughOp, "straight_through", attributes::StraightThrough> {
  std::vector<Operand> infer(Operands src) const override {
    return {{src[0].dtype, same_shape(op, src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    g.stop(0);
    if (g.wants(1)) g.set(1, g.diff_dst());
  }
  bool is_view() const override { return true; }
};

}  // namespace

Id straight_through(Emit &e, Id x, Id of) { return e.value(make<StraightThroughOp>(), {x, of}); }

}  // namespace dl4::ops
