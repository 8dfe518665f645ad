// normalize: rows normalised to mean 0 and variance 1, then scaled and shifted.

#include "ops/attributes.hpp"
#include "ops/differentiate.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// Sources dy x mean by gamma; destinations dx and the summands of gamma's gradient.
struct NormalizeGradOp final : OpOf<NormalizeGradOp, "normalize_grad", attributes::NormalizeGrad> {
  std::vector<Operand> infer(Operands src) const override {
    const Operand x{DType::f32, same_shape(op, src[0].shape, src[1].shape)};
    return {x, x};
  }
  // The moments are functions of x, whose gradient includes them.
  void gradient(Gradient &g) const override {
    g.stop(2);
    g.stop(3);
    for (int i : {0, 1})
      differentiate_as(
          g,
          [&](Emit &e, const std::vector<Id> &src) {
            return i == 0 ? diff_x(e, src) : mul(e, src[0], brought(e, src[1]));
          },
          i);
  }
  int overwrites(int dst) const override { return dst == 0 ? 0 : -1; }

 private:
  Id row_mean(Emit &e, Id v) const {
    std::vector<int> over;
    for (int i = e.rank(v) - axes; i < e.rank(v); ++i) over.push_back(i);
    return reduce(e, Reduce::mean, v, over, true);
  }
  Id factor(Emit &e, Id x) const {
    return unary(e, Unary::rsqrt, add(e, row_mean(e, unary(e, Unary::square, x)), e.scalar(epsilon)));
  }
  Id centered(Emit &e, Id x) const { return center ? sub(e, x, row_mean(e, x)) : x; }
  // x normalised, before gamma and beta.
  Id brought(Emit &e, Id x) const {
    const Id c = centered(e, x);
    return mul(e, c, factor(e, c));
  }
  Id diff_x(Emit &e, const std::vector<Id> &src) const {
    const Id c = centered(e, src[1]), by = factor(e, c), y = mul(e, c, by);
    const Id d = src[4] == none ? src[0] : mul(e, src[0], src[4]);
    return mul(e, by, sub(e, centered(e, d), mul(e, y, row_mean(e, mul(e, d, y)))));
  }
};

struct NormalizeOp final : OpOf<NormalizeOp, "normalize", attributes::Normalize> {
  int overwrites(int dst) const override { return dst == 0 ? 0 : -1; }

  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src)
      if (o.present) want_float(op, o);
    const Shape &x = src[0].shape;
    if (axes < 1 || axes > x.rank()) fail(Code::invalid_argument, "normalize can't take ", axes, " axes of ", x);
    for (size_t i : {1, 2})
      if (src[i].present && !compatible(src[i].shape, x.last(axes)))
        fail(Code::shape_mismatch, "normalize expects gamma and beta of shape ", x.last(axes), ", got ", src[i].shape);
    const Shape rows = x.first(x.rank() - axes);
    return {src[0], {DType::f32, rows}, {DType::f32, rows}};
  }

  void gradient(Gradient &g) const override {
    if (g.diff_dst(1) != none || g.diff_dst(2) != none) return;  // the moments have no gradient
    Emit &e = g.e;
    const Id dy = g.diff_dst();
    std::vector<int> rows;
    for (int i = 0; i < e.rank(dy) - axes; ++i) rows.push_back(i);
    const auto over_rows = [&](Id v) { return rows.empty() ? v : reduce(e, Reduce::sum, v, rows); };
    const auto d = e.step(make<NormalizeGradOp>(axes, epsilon, center),
                          {dy, g.src(0), g.dst(1), g.dst(2), g.has(1) ? g.src(1) : none});
    if (g.wants(0)) g.set(0, d[0]);
    if (g.wants(1)) g.set(1, over_rows(d[1]));
    if (g.wants(2)) g.set(2, over_rows(dy));
  }
};

}  // namespace

Id normalize(Emit &e, Id x, int axes, double epsilon, bool center, Id gamma, Id beta) {
  return e.step(make<NormalizeOp>(axes, epsilon, center), {x, gamma, beta})[0];
}

}  // namespace dl4::ops
