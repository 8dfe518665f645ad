// ctc: the probability of labels over all their alignments with the steps of a sequence, in double.
#include "backend/cpu/kernels/recurrent/ctc.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

enum Source { src_x, src_logs, src_labels };
enum Destination { dst_loss, dst_share };

struct CtcOp final : OpOf<CtcOp> {
  std::string_view name() const override { return "ctc"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("ctc", src[src_logs]);
    want_type("the labels of ctc", src[src_labels], DType::i32);
    const Shape &labels = src[src_labels].shape, x = same_shape("ctc", src[src_x].shape, src[src_logs].shape);
    if (x.rank() != 3) fail(Code::shape_mismatch, "ctc expects (batch, steps, classes), got ", x);
    if (labels.rank() != 2 || !compatible(labels.first(1), x.first(1)))
      fail(Code::shape_mismatch, "ctc expects labels (batch, length) for ", x, ", got ", labels);
    if (x[2] == 0) fail(Code::shape_mismatch, "ctc expects at least one class, got ", x);
    return {{DType::f32, same_shape("ctc", x.first(1), labels.first(1))}, {DType::f32, x}};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    if (g.wants(src_x)) {
      const Id by = expand_dims(e, expand_dims(e, g.diff_dst(), -1), -1);
      g.set(src_x, mul(e, sub(e, unary(e, Unary::exp, g.src(src_logs)), g.dst(1)), by));
    }
    g.stop(src_logs);
    g.stop(src_labels);
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Shape &x = site.src[src_logs].shape;
    const int64_t batch = x[0], width = site.src[src_labels].shape[1];
    const kernels::CtcSizes sizes{x[1], x[2], width};
    const int64_t row = checked_mul(2, checked_add(width, 1));
    // The states before every step, those behind it, and their sums.
    const int64_t doubles = round_up(checked_mul(checked_add(x[1], 3), row), 8);
    const double us = 0.05 * static_cast<double>(checked_mul(batch, x[1], row));
    const int64_t slices = site.cutting.slices(batch, us);
    auto run = [=](int64_t slice, const Run &r) noexcept {
      auto [begin, end] = kernels::part(batch, slices, slice);
      for (int64_t i = begin; i < end; ++i) one(sizes, i, r, static_cast<double *>(r.scratch) + slice * doubles);
    };
    return kernels::make_kernel("ctc", slices, run, checked_mul(slices, doubles, 8));
  }

 private:
  static void one(const kernels::CtcSizes &s, int64_t i, const Run &r, double *scratch) {
    const int64_t at = i * s.steps * s.classes;
    float *share = r.out<float>(dst_share);
    kernels::ctc(s, r.in<float>(src_logs) + at, r.in<int32_t>(src_labels) + i * s.labels, r.out<float>(dst_loss) + i,
                 share ? share + at : nullptr, scratch, r.report);
  }
};

}  // namespace

Id ctc(Emit &e, Id x, Id labels) { return e.step(std::make_shared<CtcOp>(), {x, log_softmax(e, x), labels})[0]; }

}  // namespace dl4::ops
