// stop_gradient: the same values, a constant for differentiation.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

struct StopGradientOp final : StopsGradients<StopGradientOp, attributes::StopGradient> {
  using StopsGradients::StopsGradients;
  std::string_view name() const override { return "stop_gradient"; }
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  bool is_view() const override { return true; }
};

}  // namespace

Id stop_gradient(Emit &e, Id x) { return e.value(std::make_shared<StopGradientOp>(), {x}); }

}  // namespace dl4::ops
