// Gradients of functions of one value, by instruction set.
#include "kernels/elementwise/elementwise.hpp"

#include "kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary_grad.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// dy where the condition on a holds, else 0; NaN where a is.
HWY_INLINE V where(hn::Mask<D> m, V dy, V a) {
  return hn::IfThenElse(m, dy, hn::IfThenElse(hn::IsNaN(a), a, hn::Zero(D())));
}

HWY_INLINE V density(V x) {  // of the normal distribution
  return hn::Mul(set(0.39894228040143268f), exp(hn::Mul(hn::Mul(x, x), set(-0.5f))));
}

// A product with x that is 0 at infinity.
HWY_INLINE V zero_far(V x, V y) { return hn::IfThenElse(hn::Gt(hn::Abs(x), set(104)), hn::Zero(D()), y); }

// dy f'(x); a is x or f(x), as grad_from says.
template <Unary F, bool from_input>
HWY_INLINE V slope(V dy, V a, V p0, V p1, V p2) {
  const V zero = hn::Zero(D()), one = set(1);
  if constexpr (F == Unary::neg)
    return hn::Neg(dy);
  else if constexpr (F == Unary::abs)
    return hn::IfThenElse(hn::Gt(a, zero), dy, hn::IfThenElse(hn::Lt(a, zero), hn::Neg(dy), hn::Mul(a, zero)));
  else if constexpr (F == Unary::sign || F == Unary::floor || F == Unary::ceil || F == Unary::round)
    return zero;
  else if constexpr (F == Unary::square)
    return hn::Mul(dy, hn::Add(a, a));
  else if constexpr (F == Unary::sqrt)
    return hn::Div(hn::Mul(dy, set(0.5f)), a);
  else if constexpr (F == Unary::rsqrt)
    return hn::Mul(hn::Mul(dy, set(-0.5f)), hn::Mul(hn::Mul(a, a), a));
  else if constexpr (F == Unary::exp)
    return hn::Mul(dy, a);
  else if constexpr (F == Unary::log)
    return hn::Div(dy, a);
  else if constexpr (F == Unary::log1p)
    return hn::Div(dy, hn::Add(one, a));
  else if constexpr (F == Unary::expm1)
    return hn::Mul(dy, hn::Add(a, one));
  else if constexpr (F == Unary::sin)
    return hn::Mul(dy, cos(a));
  else if constexpr (F == Unary::cos)
    return hn::Neg(hn::Mul(dy, sin(a)));
  else if constexpr (F == Unary::erf)
    return hn::Mul(hn::Mul(dy, set(1.1283791670955126f)), exp(hn::Neg(hn::Mul(a, a))));
  else if constexpr (F == Unary::relu)
    return where(hn::Gt(a, zero), dy, a);
  else if constexpr (F == Unary::relu6 || F == Unary::hard_sigmoid) {
    const bool sigmoidal = F == Unary::hard_sigmoid;
    auto inside = hn::And(hn::Gt(a, zero), hn::Lt(a, sigmoidal ? one : set(6)));
    return where(inside, sigmoidal ? hn::Div(dy, set(6)) : dy, a);
  } else if constexpr (F == Unary::leaky_relu)
    return hn::IfThenElse(hn::Gt(a, zero), dy, hn::IfThenElse(hn::IsNaN(a), a, hn::Mul(dy, p0)));
  else if constexpr (F == Unary::relu_general) {
    // Keras clips with relu6 for the plain 6, whose gradient at 6 is 0, and with min and max otherwise, whose is not.
    auto six = hn::And(hn::Eq(p1, set(6)), hn::Eq(p2, zero));
    auto unclipped = hn::Eq(p1, set(infinity));
    auto below_max = hn::Or(hn::Lt(a, p1), hn::AndNot(six, hn::Eq(a, p1)));
    auto passes = hn::And(hn::Gt(a, p2), hn::Or(unclipped, hn::And(below_max, hn::Ge(a, zero))));
    // leaky_relu, which Keras takes when there is no maximum and no threshold, has its slope at 0 too.
    auto leaky = hn::And(unclipped, hn::And(hn::Eq(p2, zero), hn::Eq(a, zero)));
    V d = hn::IfThenElse(passes, dy, zero);
    d = hn::Add(d, hn::IfThenElseZero(hn::Or(hn::Lt(a, p2), leaky), hn::Mul(p0, dy)));
    return hn::IfThenElse(hn::IsNaN(a), a, d);
  } else if constexpr (F == Unary::elu) {
    V below = from_input ? hn::Mul(p0, exp(a)) : hn::Add(a, p0);
    return hn::IfThenElse(hn::Gt(a, zero), dy, hn::Mul(dy, below));
  } else if constexpr (F == Unary::selu) {
    V below = hn::Add(a, set(1.7580993408473766f));
    return hn::Mul(dy, hn::IfThenElse(hn::Gt(a, zero), set(1.0507009873554805f), below));
  } else if constexpr (F == Unary::celu)
    return hn::IfThenElse(hn::Gt(a, zero), dy, hn::Mul(dy, exp(hn::Div(a, p0))));
  else if constexpr (F == Unary::sigmoid)
    return hn::Mul(dy, hn::Mul(a, hn::Sub(one, a)));
  else if constexpr (F == Unary::log_sigmoid)
    return hn::Neg(hn::Mul(dy, expm1(a)));
  else if constexpr (F == Unary::tanh)
    return hn::Mul(dy, hn::NegMulAdd(a, a, one));
  else if constexpr (F == Unary::softplus)
    return hn::Neg(hn::Mul(dy, expm1(hn::Neg(a))));
  else if constexpr (F == Unary::softsign) {
    V s = hn::Div(one, hn::Add(hn::Abs(a), one));
    return hn::Mul(dy, hn::Mul(s, s));
  } else if constexpr (F == Unary::gelu)
    return hn::Mul(dy, hn::Add(normal_cdf(a), zero_far(a, hn::Mul(a, density(a)))));
  else if constexpr (F == Unary::gelu_tanh) {
    V a2 = hn::Mul(a, a);
    V inner = hn::Mul(set(1.5957691216057308f), hn::MulAdd(hn::Mul(set(0.044715f), a), a2, a));
    V s = sigmoid(inner), rest = sigmoid(hn::Neg(inner));
    V inner_slope = hn::Mul(set(1.5957691216057308f), hn::MulAdd(set(0.134145f), a2, one));
    return hn::Mul(dy, hn::Add(s, zero_far(a, hn::Mul(hn::Mul(a, inner_slope), hn::Mul(s, rest)))));
  } else if constexpr (F == Unary::silu) {
    V s = sigmoid(a);
    return hn::Mul(dy, hn::Add(s, zero_far(a, hn::Mul(hn::Mul(a, s), hn::Sub(one, s)))));
  } else if constexpr (F == Unary::mish) {
    V e = exp(hn::IfThenElse(hn::Gt(a, set(20)), set(20), a));
    V n = hn::Mul(e, hn::Add(e, set(2))), m = hn::Add(n, set(2));
    // tanh(softplus) = n / m and its 1 - tanh^2 = 4 (n + 1) / m^2.
    V curve = hn::Mul(hn::Div(hn::Mul(set(4), hn::Add(n, one)), hn::Mul(m, m)), hn::Div(e, hn::Add(e, one)));
    return hn::Mul(dy, hn::Add(hn::Div(n, m), zero_far(a, hn::Mul(a, curve))));
  } else if constexpr (F == Unary::hard_sigmoid_v1) {
    V y = hn::Add(hn::Mul(a, set(0.2f)), set(0.5f));
    return where(hn::And(hn::Ge(y, zero), hn::Le(y, one)), hn::Mul(dy, set(0.2f)), a);
  } else if constexpr (F == Unary::hard_silu) {
    V inside = hn::Div(hn::MulAdd(a, set(2), set(3)), set(6));
    V s = hn::IfThenElse(hn::Le(a, set(-3)), zero, hn::IfThenElse(hn::Ge(a, set(3)), one, inside));
    return hn::Mul(dy, s);
  } else if constexpr (F == Unary::hard_tanh)
    return where(hn::Le(hn::Abs(a), one), dy, a);
  else if constexpr (F == Unary::tanh_shrink) {
    V t = tanh(a);
    return hn::Mul(dy, hn::Mul(t, t));
  } else if constexpr (F == Unary::hard_shrink || F == Unary::soft_shrink)
    return where(hn::Gt(hn::Abs(a), p0), dy, a);
  else if constexpr (F == Unary::threshold)
    return where(hn::Gt(a, p0), dy, a);
  else if constexpr (F == Unary::squareplus) {
    V r = hn::Div(a, hn::Sqrt(hn::MulAdd(a, a, p0)));
    return hn::Mul(hn::Mul(dy, set(0.5f)), hn::Add(one, r));
  } else if constexpr (F == Unary::sparse_plus) {
    V s = hn::IfThenElse(hn::Ge(a, one), one, hn::Mul(hn::Add(a, one), set(0.5f)));
    return hn::Mul(dy, hn::IfThenElse(hn::Le(a, set(-1)), zero, s));
  } else if constexpr (F == Unary::sparse_sigmoid)
    return where(hn::Lt(hn::Abs(a), one), hn::Mul(dy, set(0.5f)), a);
  else if constexpr (F == Unary::clip)
    return where(hn::And(hn::Ge(a, p0), hn::Le(a, p1)), dy, a);
  else {
    static_assert(F == Unary::scale_shift);
    return hn::Mul(dy, p0);
  }
}

template <Unary F, bool from_input = info(F).grad == GradFrom::input>
void run(const float *p, const float *dy, const float *a, float *dx, int64_t n) {
  const V p0 = set(p[0]), p1 = set(p[1]), p2 = set(p[2]);
  map(dy, a, dx, n, [=](V d, V v) HWY_ATTR { return slope<F, from_input>(d, v, p0, p1, p2); });
}

template <int I = 0>
void choose(Unary f, const float *p, const float *dy, const float *a, float *dx, int64_t n) {
  if constexpr (I < static_cast<int>(Unary::count_)) {
    constexpr Unary F = static_cast<Unary>(I);
    if (f != F) return choose<I + 1>(f, p, dy, a, dx, n);
    if constexpr (F == Unary::elu) {
      if (grad_from(f, p) == GradFrom::input)
        run<F, true>(p, dy, a, dx, n);
      else
        run<F, false>(p, dy, a, dx, n);
    } else
      run<F>(p, dy, a, dx, n);
  }
}

}  // namespace

void unary_grad_all(Unary f, const float *p, const float *dy, const float *a, float *dx, int64_t n) {
  choose(f, p, dy, a, dx, n);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(unary_grad_all);

void unary_grad(Unary f, const float *params, const float *dy, const float *x_or_y, float *dx, int64_t n) noexcept {
  float p[3] = {};
  for (int i = 0; i < info(f).params; ++i) p[i] = params[i];
  HWY_DYNAMIC_DISPATCH(unary_grad_all)(f, p, dy, x_or_y, dx, n);
}

}  // namespace dl4::kernels
#endif
