// ctc: the probability of labels over all their alignments with the steps of a sequence, in double.
//
// As Keras on TensorFlow has it: a path that ends before the last label is no path of probability 0, but counts 1e-307,
// and so does for the gradient one that begins behind the first. Labels for which there are too few steps therefore
// cost some 707 rather than infinity.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

enum Source { src_x, src_logs, src_labels };
enum Destination { dst_loss, dst_share };

constexpr double impossible = -std::numeric_limits<double>::infinity();
constexpr double unlikely = -706.893555;  // log(1e-307), as a float

double log_sum(double a, double b, double c = impossible) {
  const double most = std::max({a, b, c});
  if (most == impossible) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// One sequence. States: 0 the start, then each label i + 1; behind these the blanks, blank i before label i.
struct Sequence {
  int64_t steps, classes, labels, length;
  const float *logs;     // (steps, classes)
  const int32_t *label;  // (labels), of which `length` count

  int64_t states() const { return 2 * (labels + 1); }  // bounded: kernel() has checked it
  int64_t blank(int64_t i) const { return labels + 1 + i; }
  // bounded: an element of x
  double log_of(int64_t t, int64_t c) const { return static_cast<double>(logs[t * classes + c]); }
  // May label i come right behind the one before it?
  bool follows(int64_t i) const { return i == 0 || label[i] != label[i - 1]; }

  // What the states are before step t + 1, from what they are before step t.
  void forward(int64_t t, const double *from, double *to) const {
    to[0] = impossible;
    for (int64_t i = 0; i <= labels; ++i) to[blank(i)] = log_sum(from[blank(i)], from[i]) + log_of(t, 0);
    for (int64_t i = 0; i < labels; ++i)
      to[i + 1] = log_sum(from[i + 1], from[blank(i)], follows(i) ? from[i] : impossible) + log_of(t, label[i]);
  }
  // Of what follows from each state before step t, from that before step t + 1; may be in place.
  void backward(int64_t t, const double *from, double *to) const {
    for (int64_t i = 0; i <= labels; ++i) {
      const double stay = i == 0 ? impossible : from[i] + log_of(t, label[i - 1]);
      const double blanks = from[blank(i)] + log_of(t, 0);
      const double next = i == labels ? impossible : from[i + 1] + log_of(t, label[i]);
      to[i] = log_sum(stay, blanks, i < labels && follows(i) ? next : impossible);
      to[blank(i)] = log_sum(blanks, next);
    }
  }
  void start(double *to) const {
    std::fill_n(to, states(), unlikely);
    to[0] = 0;
  }
  void end(double *to) const {
    std::fill_n(to, states(), unlikely);
    to[length] = to[blank(length)] = 0;
  }
  // Of step t, how much of the probability each class has, but for labels that are blanks.
  void share(const double *before, const double *after, double *sum, float *to) const {
    double all = impossible;
    for (int64_t s = 0; s < states(); ++s) all = log_sum(all, sum[s] = before[s] + after[s]);
    std::fill_n(to, classes, 0.0f);
    double blanks = 0;
    for (int64_t i = 0; i <= labels; ++i) blanks += std::exp(sum[blank(i)] - all);
    to[0] = static_cast<float>(blanks);
    for (int64_t i = 0; i < labels; ++i)
      if (label[i] > 0) to[label[i]] += static_cast<float>(std::exp(sum[i + 1] - all));
  }
};

struct CtcOp final : OpOf<CtcOp> {
  std::string_view name() const override { return "ctc"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("ctc", src[src_logs]);
    want_type("the labels of ctc", src[src_labels], DType::i32);
    const Shape &labels = src[src_labels].shape, x = same_shape("ctc", src[src_x].shape, src[src_logs].shape);
    if (x.rank() != 3) fail(Code::shape_mismatch, "ctc wants (batch, steps, classes), got ", x);
    if (labels.rank() != 2 || !compatible(labels.first(1), x.first(1)))
      fail(Code::shape_mismatch, "ctc wants labels (batch, length) for ", x, ", got ", labels);
    if (x[2] == 0) fail(Code::shape_mismatch, "ctc wants at least one class, got ", x);
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
    const Sequence shape{x[1], x[2], width, 0, nullptr, nullptr};
    const int64_t row = checked_mul(2, checked_add(width, 1));
    // The states before every step, those behind it, and their sums.
    const int64_t doubles = round_up(checked_mul(checked_add(x[1], 3), row), 8);
    const double us = 0.05 * static_cast<double>(checked_mul(batch, x[1], row));
    const int64_t slices = site.cutting.slices(batch, us);
    auto run = [=](int64_t slice, const Run &r) noexcept {
      auto [begin, end] = kernels::part(batch, slices, slice);
      for (int64_t i = begin; i < end; ++i) one(shape, i, r, static_cast<double *>(r.scratch) + slice * doubles);
    };
    return kernels::make_kernel("ctc", slices, run, checked_mul(slices, doubles, 8));
  }

 private:
  static void one(Sequence s, int64_t i, const Run &r, double *scratch) {
    const int64_t n = s.states();
    s.logs = r.in<float>(src_logs) + i * s.steps * s.classes;
    s.label = r.in<int32_t>(src_labels) + i * s.labels;
    for (int64_t k = 0; k < s.labels; ++k) {
      if (s.label[k] < 0 || s.label[k] >= s.classes)
        return r.report->raise(kernels::Fault::index_out_of_range, s.label[k], s.classes);
      s.length += s.label[k] != 0;
    }
    double *before = scratch, *after = scratch + (s.steps + 1) * n;
    float *share = r.out<float>(dst_share);
    if (share) {
      share += i * s.steps * s.classes;
      s.start(before);
      for (int64_t t = 0; t < s.steps; ++t) s.forward(t, before + t * n, before + (t + 1) * n);
    }
    s.end(after);
    for (int64_t t = s.steps; t-- > 0;) {
      if (share) s.share(before + (t + 1) * n, after, after + n, share + t * s.classes);
      s.backward(t, after, after);
    }
    r.out<float>(dst_loss)[i] = static_cast<float>(-after[0]);
  }
};

}  // namespace

Id ctc(Emit &e, Id x, Id labels) { return e.step(std::make_shared<CtcOp>(), {x, log_softmax(e, x), labels})[0]; }

}  // namespace dl4::ops
