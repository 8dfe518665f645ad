// unary: y = f(x), elementwise.
#include "ops/attributes.hpp"
#include "ops/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// dx from dy and x or y.
struct UnaryGradOp final : OpOf<UnaryGradOp, "unary_grad", attributes::UnaryGrad> {
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape(op, src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    if (g.wants(0)) g.set(0, e.value(make<UnaryGradOp>(function), {g.diff_dst(), g.src(1)}));
    if (!g.wants(1)) return;
    if (Id by = curvature(e, function, g.src(1)); by != none)
      g.set(1, mul(e, mul(e, g.diff_dst(), g.src(0)), by));
    else
      g.stop(1);
  }
  int overwrites(int) const override { return 0; }
};

// Of integers, which wrap around; none of other functions.
Id of_integers(Emit &e, Unary f, Id x) {
  const auto number = [&](double v) { return e.scalar(v, e.dtype(x)); };
  switch (f) {
    case Unary::neg:
      return sub(e, number(0), x);
    case Unary::abs:
      return binary(e, Binary::max, x, sub(e, number(0), x));
    case Unary::sign:
      return binary(e, Binary::max, binary(e, Binary::min, x, number(1)), number(-1));
    case Unary::square:
      return mul(e, x, x);
    default:
      return none;
  }
}

}  // namespace

std::string to_string(const Function &f) {
  std::string s(info(f.f).name);
  return f.params().empty() ? s : s + numbers(f.params());
}

std::vector<Operand> UnaryOp::infer(Operands src) const {
  want_float(info(function.f).name.data(), src[0]);
  return {src[0]};
}

void UnaryOp::gradient(Gradient &g) const {
  Id of = grad_from(function.f, function.param.data()) == GradFrom::output ? g.dst() : g.src(0);
  g.set(0, g.e.value(make<UnaryGradOp>(function), {g.diff_dst(), of}));
}

Id unary(Emit &e, Unary f, Id x, std::array<float, 3> param) {
  if (const DType t = e.dtype(x); t == DType::i32 || t == DType::i64)
    if (const Id y = of_integers(e, f, x); y != none) return y;
  return e.value(std::make_shared<UnaryOp>(Function{f, param}), {x});
}

}  // namespace dl4::ops
