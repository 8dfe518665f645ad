// Second derivatives of elementwise functions, for gradients of gradients.
#include "ops/elementwise.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

// Builds formulas over one value.
class Formula {
 public:
  Formula(Emit &e, const Function &f, Id v) : e_(e), f_(f), v_(v) {}

  Id number(double v) { return e_.scalar(v); }
  Id times(Id a, double by) { return mul(e_, a, number(by)); }
  Id plus(Id a, double b) { return add(e_, a, number(b)); }
  Id of(Unary f, Id x) { return unary(e_, f, x); }
  Id square(Id x) { return of(Unary::square, x); }
  Id product(Id a, Id b) { return mul(e_, a, b); }
  // `there` where the value is above `limit`, else `elsewhere`.
  Id above(double limit, Id there, Id elsewhere) {
    return select(e_, binary(e_, Binary::greater, v_, number(limit)), there, elsewhere);
  }
  // `there` where |value| < limit, else 0.
  Id within(double limit, Id there) {
    return select(e_, binary(e_, Binary::less, of(Unary::abs, v_), number(limit)), there, number(0));
  }
  double parameter(size_t i) const { return static_cast<double>(f_.param[i]); }

  // For x sigmoid(u(x)): u, u' and u''.
  Id gated(Id u, Id first, Id second) {
    const Id s = of(Unary::sigmoid, u), rest = sub(e_, number(1), s), bend = sub(e_, rest, s);
    const Id change = product(product(s, rest), first);
    const Id more = add(e_, second, product(bend, product(first, first)));
    return add(e_, times(change, 2), product(product(v_, product(s, rest)), more));
  }
  Id gelu_tanh() {
    constexpr double c = 2 * 0.7978845608028654, a = 0.044715;
    const Id x2 = square(v_);
    return gated(times(product(v_, plus(times(x2, a), 1)), c), times(plus(times(x2, 3 * a), 1), c),
                 times(v_, 6 * a * c));
  }
  Id gelu() {
    const Id density = times(of(Unary::exp, times(square(v_), -0.5)), 0.3989422804014327);
    return product(density, sub(e_, number(2), square(v_)));
  }
  Id mish() {
    const Id t = of(Unary::tanh, of(Unary::softplus, v_)), s = of(Unary::sigmoid, v_);
    const Id rest = sub(e_, number(1), square(t)), bend = sub(e_, sub(e_, number(1), s), times(product(t, s), 2));
    return add(e_, times(product(rest, s), 2), product(v_, product(product(rest, s), bend)));
  }
  Id tanh_shrink() {
    const Id t = of(Unary::tanh, v_);
    return times(product(t, sub(e_, number(1), square(t))), 2);
  }
  Id softsign() {
    const Id size = plus(of(Unary::abs, v_), 1);
    return times(div(e_, of(Unary::sign, v_), product(size, square(size))), -2);
  }
  Id squareplus() {
    const Id r2 = plus(square(v_), parameter(0));
    return div(e_, number(parameter(0) / 2), product(r2, of(Unary::sqrt, r2)));
  }
  // by * x (factor x^2 + constant)^(-3/2).
  Id of_root(double by, double factor, double constant) {
    const Id inside = plus(times(square(v_), factor), constant);
    return product(times(v_, by), div(e_, of(Unary::rsqrt, inside), inside));
  }
  // by * x / (1 + sign x^2)^2.
  Id of_ratio(double by, double sign) { return div(e_, times(v_, by), square(plus(times(square(v_), sign), 1))); }
  // by * x e^(sign x^2).
  Id bell(double by, double sign) { return product(times(v_, by), of(Unary::exp, times(square(v_), sign))); }
  Id elu(double scale, bool of_output) {
    return above(0, number(0), of_output ? number(1) : times(of(Unary::exp, v_), scale));
  }

 private:
  Emit &e_;
  const Function &f_;
  const Id v_;
};

}  // namespace

Id curvature(Emit &e, const Function &f, Id v) {
  Formula of(e, f, v);
  switch (f.f) {
    case Unary::square:
      return of.number(2);
    case Unary::sqrt:
      return div(e, of.number(-0.5), of.square(v));
    case Unary::rsqrt:
      return of.times(of.square(v), -1.5);
    case Unary::exp:
    case Unary::expm1:
      return of.number(1);
    case Unary::log:
      return div(e, of.number(-1), of.square(v));
    case Unary::log1p:
      return div(e, of.number(-1), of.square(of.plus(v, 1)));
    case Unary::sin:
      return unary(e, Unary::neg, of.of(Unary::sin, v));
    case Unary::cos:
      return unary(e, Unary::neg, of.of(Unary::cos, v));
    case Unary::tan:
      return of.times(v, 2);
    case Unary::asin:
      return of.of_root(1, -1, 1);
    case Unary::acos:
      return of.of_root(-1, -1, 1);
    case Unary::atan:
      return of.of_ratio(-2, 1);
    case Unary::sinh:
    case Unary::cosh:
      return of.of(f.f, v);
    case Unary::asinh:
      return of.of_root(-1, 1, 1);
    case Unary::acosh:
      return of.of_root(-1, 1, -1);
    case Unary::atanh:
      return of.of_ratio(2, -1);
    case Unary::erf:
      return of.bell(-2.2567583341910251, -1);
    case Unary::erfc:
      return of.bell(2.2567583341910251, -1);
    case Unary::erfinv:
      return of.bell(1.7724538509055159, 1);
    case Unary::cbrt:
      return div(e, of.number(-2.0 / 3), of.product(v, of.square(v)));
    case Unary::elu:
      return of.elu(of.parameter(0), grad_from(f.f, f.param.data()) == GradFrom::output);
    case Unary::selu:
      return of.elu(1, true);
    case Unary::celu:
      return of.above(0, of.number(0),
                      of.times(of.of(Unary::exp, of.times(v, 1 / of.parameter(0))), 1 / of.parameter(0)));
    case Unary::sigmoid:
      return of.plus(of.times(v, -2), 1);
    case Unary::log_sigmoid:
      return unary(e, Unary::neg, of.of(Unary::exp, v));
    case Unary::tanh:
      return of.times(v, -2);
    case Unary::softplus:
      return of.of(Unary::exp, unary(e, Unary::neg, v));
    case Unary::softsign:
      return of.softsign();
    case Unary::gelu:
      return of.gelu();
    case Unary::gelu_tanh:
      return of.gelu_tanh();
    case Unary::silu:
      return of.gated(v, of.number(1), of.number(0));
    case Unary::mish:
      return of.mish();
    case Unary::hard_silu:
      return of.within(3, of.number(1.0 / 3));
    case Unary::tanh_shrink:
      return of.tanh_shrink();
    case Unary::squareplus:
      return of.squareplus();
    case Unary::sparse_plus:
      return of.within(1, of.number(0.5));
    default:
      return none;  // piecewise linear
  }
}

}  // namespace dl4::ops
