// check_finite: a fault if a value has a NaN or an infinity.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct CheckFiniteOp final : StopsGradients<CheckFiniteOp, "check_finite", attributes::CheckFinite> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {};
  }
  bool is_volatile() const override { return true; }
};

}  // namespace

void check_finite(Emit &e, Id x) { e.step(make<CheckFiniteOp>(), {x}); }

}  // namespace dl4::ops
