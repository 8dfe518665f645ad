// ctc: the probability of labels over all their alignments with a sequence, in double.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

enum CtcSource { ctc_x, ctc_logs, ctc_labels };

struct CtcOp final : OpOf<CtcOp, "ctc", attributes::Ctc> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[ctc_logs]);
    want_type("the labels of ctc", src[ctc_labels], DType::i32);
    const Shape &labels = src[ctc_labels].shape, x = same_shape(op, src[ctc_x].shape, src[ctc_logs].shape);
    if (x.rank() != 3) fail(Code::shape_mismatch, "ctc expects (batch, steps, classes), got ", x);
    if (labels.rank() != 2 || !compatible(labels.first(1), x.first(1)))
      fail(Code::shape_mismatch, "ctc expects labels (batch, length) for ", x, ", got ", labels);
    if (x[2] == 0) fail(Code::shape_mismatch, "ctc expects at least one class, got ", x);
    return {{DType::f32, same_shape(op, x.first(1), labels.first(1))}, {DType::f32, x}};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    if (g.wants(ctc_x)) {
      const Id by = expand_dims(e, expand_dims(e, g.diff_dst(), -1), -1);
      g.set(ctc_x, mul(e, sub(e, unary(e, Unary::exp, g.src(ctc_logs)), g.dst(1)), by));
    }
    g.stop(ctc_logs);
  }
};

}  // namespace

Id ctc(Emit &e, Id x, Id labels) { return e.step(make<CtcOp>(), {x, log_softmax(e, x), labels})[0]; }

}  // namespace dl4::ops
