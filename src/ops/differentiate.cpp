// Finds the values between `wrt` and those with known gradients, then visits the steps backwards, applying their rules.
// Second derivatives of elementwise functions, for gradients of gradients.
#include "ops/differentiate.hpp"

#include "ops/elementwise.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

// A rule that omits a source would silently lose a path of the gradient. A repeated source must be set once.
void check_complete(const Gradient &g, const Step &step) {
  for (size_t i = 0; i < step.src.size(); ++i) {
    bool found = !g.wants(static_cast<int>(i));
    for (size_t j = 0; j < step.src.size(); ++j) found |= step.src[j] == step.src[i] && g.diff_src[j] != none;
    if (!found) fail(Code::unsupported, step.op->name(), " has no gradient by its source ", i);
  }
}

}  // namespace

std::vector<Id> differentiate(Emit &e, std::span<const Cotangent> from, std::span<const Id> wrt) {
  Program &p = e.program;
  size_t n_steps = p.steps.size();

  // Forward pass: values that depend on wrt.
  PerValue<bool> depends(p);
  for (Id v : wrt) depends[v] = true;
  for (size_t s = 0; s < n_steps; ++s) {
    bool any = false;
    for (size_t i = 0; i < p.steps[s].src.size(); ++i) {
      Id v = p.steps[s].src[i];
      any |= v != none && p.steps[s].op->reads(static_cast<int>(i)) && depends[v];
    }
    if (!any) continue;
    for (Id v : p.steps[s].dst)
      if (p[v].dtype == DType::f32) depends[v] = true;
  }

  PerValue<Id> diff(p, none);
  for (const Cotangent &c : from)
    if (depends[c.value]) diff[c.value] = diff[c.value] == none ? c.diff : add(e, diff[c.value], c.diff);

  std::string scope = e.scope;
  for (size_t s = n_steps; s-- > 0;) {
    Step step = p.steps[s];  // a copy: emitting reallocates the list
    std::vector<Id> diff_dst;
    bool arrives = false;
    for (Id v : step.dst) {
      diff_dst.push_back(diff[v]);
      arrives |= diff_dst.back() != none;
    }
    if (!arrives) continue;
    std::vector<bool> wanted;
    bool any = false;
    for (size_t i = 0; i < step.src.size(); ++i) {
      Id v = step.src[i];
      wanted.push_back(v != none && depends[v] && p[v].dtype == DType::f32 && step.op->reads(static_cast<int>(i)));
      any |= wanted.back();
    }
    if (!any) continue;
    e.scope = step.scope;
    Gradient g(e, step, std::move(diff_dst), std::move(wanted));
    step.op->gradient(g);
    check_complete(g, step);
    for (size_t i = 0; i < step.src.size(); ++i) {
      if (g.diff_src[i] == none || !g.wants(static_cast<int>(i))) continue;
      Id &sum = diff[step.src[i]];
      sum = sum == none ? g.diff_src[i] : add(e, sum, g.diff_src[i]);
    }
  }
  e.scope = scope;

  std::vector<Id> result;
  for (Id v : wrt) result.push_back(diff[v]);
  return result;
}

void differentiate_as(Gradient &g, const std::function<Id(Emit &, const std::vector<Id> &)> &written, int destination) {
  const Id diff = g.diff_dst(destination);
  if (diff == none) return;
  // The sources are treated as independent, although one may depend on another.
  std::vector<Id> src, wrt;
  std::vector<int> which;
  for (int i = 0; i < g.sources(); ++i) {
    src.push_back(g.has(i) && g.wants(i) ? straight_through(g.e, g.src(i), g.src(i)) : g.src(i));
    if (!g.has(i) || !g.wants(i)) continue;
    wrt.push_back(src.back());
    which.push_back(i);
  }
  const std::vector<Id> found = differentiate(g.e, std::vector<Cotangent>{{written(g.e, src), diff}}, wrt);
  for (size_t i = 0; i < which.size(); ++i) {
    const Id before = g.diff_src[static_cast<size_t>(which[i])];
    if (found[i] == none && before == none) g.stop(which[i]);
    if (found[i] == none) continue;
    g.set(which[i], before == none ? found[i] : add(g.e, before, found[i]));
  }
}

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
