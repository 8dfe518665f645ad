// argmax: index of the largest element of an axis.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct ArgmaxOp final : StopsGradients<ArgmaxOp, "argmax", attributes::Argmax> {
  std::vector<Operand> infer(Operands src) const override {
    want_number(op, src[0]);
    const Shape &x = src[0].shape;
    if (x[axis] == 0) fail(Code::shape_mismatch, "argmax over the empty axis ", axis, " of ", x);
    return {{DType::i32, x.without(axis)}};
  }
};

}  // namespace

Id argmax(Emit &e, Id x, int axis) { return e.value(make<ArgmaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
