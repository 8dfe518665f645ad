// repeat: repeats every position of an axis, optionally interpolated; and its gradient.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

Id repeat_grad(Emit &e, Id dy, const attributes::Repeating &how);

struct RepeatOp final : OpOf<RepeatOp, "repeat", attributes::Repeat> {
  bool takes_strings() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    if (how.linear) want_float(op, src[0]);
    const int64_t n = src[0].shape[how.axis];
    return {{src[0].dtype, n == free_dim ? src[0].shape : src[0].shape.with(how.axis, checked_mul(n, how.times))}};
  }
  void gradient(Gradient &g) const override { g.set(0, repeat_grad(g.e, g.diff_dst(), how)); }
};

struct RepeatGradOp final : OpOf<RepeatGradOp, "repeat_grad", attributes::RepeatGrad> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    const Shape &dy = src[0].shape;
    const int64_t n = dy[how.axis];
    if (n == free_dim) return {src[0]};
    if (n % how.times != 0)
      fail(Code::shape_mismatch, "repeat_grad: ", how.times, " does not divide axis ", how.axis, " of ", dy);
    return {{DType::f32, dy.with(how.axis, n / how.times)}};
  }
  void gradient(Gradient &g) const override { g.set(0, repeat(g.e, g.diff_dst(), how.axis, how.times, how.linear)); }
};

Id repeat_grad(Emit &e, Id dy, const attributes::Repeating &how) { return e.value(make<RepeatGradOp>(how), {dy}); }

}  // namespace

Id repeat(Emit &e, Id x, int axis, int64_t times, bool linear) {
  if (times < 1 || times > max_dim)
    fail(Code::invalid_argument, "repeat: expected 1 to ", max_dim, " times, got ", times);
  return e.value(make<RepeatOp>(attributes::Repeating{e.shape(x).axis(axis), times, linear}), {x});
}

}  // namespace dl4::ops
