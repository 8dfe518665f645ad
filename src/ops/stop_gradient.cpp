// stop_gradient: the same values, a constant for differentiation.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

struct StopGradientOp final : StopsGradients<StopGradientOp, "stop_gradient", attributes::StopGradient> {
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  bool is_view() const override { return true; }
};

}  // namespace

Id stop_gradient(Emit &e, Id x) { return e.value(make<StopGradientOp>(), {x}); }

}  // namespace dl4::ops
