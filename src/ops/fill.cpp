// fill: a constant, in a shape taken from another value.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct FillOp final : StopsGradients<FillOp, "fill", attributes::Fill> {
  std::vector<Operand> infer(Operands src) const override {
    if (keep < 0 || keep > src[0].shape.rank())
      fail(Code::invalid_argument, "fill can't keep ", keep, " axes of ", src[0].shape);
    return {{dtype, src[0].shape.first(keep).joined(tail)}};
  }
  bool reads(int) const override { return false; }
};

}  // namespace

Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail) {
  return e.value(make<FillOp>(dtype, v, keep, tail), {like});
}

}  // namespace dl4::ops
