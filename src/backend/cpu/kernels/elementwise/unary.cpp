// Functions of one value and their gradients, by instruction set.
#include "backend/cpu/kernels/elementwise/elementwise.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/math.hpp"

#ifndef DL4_KERNELS_UNARY_ROWS
#define DL4_KERNELS_UNARY_ROWS
namespace dl4::kernels {
struct UnaryRows {
  const float *x;
  float *y;
  int64_t rows, cols, ld = 0;
  float p[3] = {};
};

// Giles (2010) to 3e-7, then one Newton step in double precision.
inline double erfinv(double wanted) noexcept {
  const auto y = static_cast<float>(wanted);
  const float w = -math::log((1 - y) * (1 + y));
  if (!(w < std::numeric_limits<float>::infinity()))
    return std::fabs(wanted) == 1 ? wanted * static_cast<double>(w) : wanted * NAN;
  constexpr float near[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                            -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  constexpr float far[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                           -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
  const float at = w < 5 ? w - 2.5f : std::sqrt(w) - 3;
  float p = 0;
  for (const float c : w < 5 ? near : far) p = p * at + c;
  const auto x = static_cast<double>(p * y);
  // The residual through erfc, which keeps precision that erf(x) loses near 1.
  const double left = math::erfc(std::fabs(x)) - (1 - std::fabs(wanted));
  return x + (wanted < 0 ? -left : left) * 0.88622692545275801 * math::exp(x * x);
}
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise/unary.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

struct P {
  V p0, p1, p2;
};

HWY_INLINE V zero() { return hn::Zero(D()); }
HWY_INLINE V relu(V x) { return hn::IfThenElse(hn::Le(x, zero()), zero(), x); }
HWY_INLINE V relu6(V x) { return hn::IfThenElse(hn::Gt(x, set(6)), set(6), relu(x)); }
HWY_INLINE V density(V x) {  // density of the normal distribution
  return hn::Mul(set(0.39894228040143268f), exp(hn::Mul(hn::Mul(x, x), set(-0.5f))));
}

// Sets the limit 0 at -infinity for formulas whose factors are infinity and 0 there.
HWY_INLINE V zero_far_below(V x, V y) { return hn::IfThenElse(hn::Lt(x, set(-104)), zero(), y); }
// The same for products with x whose limit is 0 at both infinities.
HWY_INLINE V zero_far(V x, V y) { return hn::IfThenElse(hn::Gt(hn::Abs(x), set(104)), zero(), y); }
// dy where m holds, else 0; NaN where a is NaN.
HWY_INLINE V where(hn::Mask<D> m, V dy, V a) { return hn::IfThenElse(m, dy, hn::IfThenElse(hn::IsNaN(a), a, zero())); }

HWY_INLINE V one_less_square(V a) { return hn::Mul(hn::Sub(set(1), a), hn::Add(set(1), a)); }

// A function: f(x) and slope = dy f'(x); a is x or f(x), as its row of unary_table says.
template <Unary F>
struct Function;

template <>
struct Function<Unary::neg> {
  static HWY_INLINE V f(V x, const P &) { return hn::Neg(x); }
  static HWY_INLINE V slope(V dy, V, const P &) { return hn::Neg(dy); }
};

template <>
struct Function<Unary::abs> {
  static HWY_INLINE V f(V x, const P &) { return hn::Abs(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    const V below = hn::IfThenElse(hn::Lt(a, zero()), hn::Neg(dy), hn::Mul(a, zero()));
    return hn::IfThenElse(hn::Gt(a, zero()), dy, below);
  }
};

template <>
struct Function<Unary::sign> {
  static HWY_INLINE V f(V x, const P &) {
    const V below = hn::IfThenElse(hn::Lt(x, zero()), set(-1), x);
    return hn::IfThenElse(hn::Gt(x, zero()), set(1), below);
  }
  static HWY_INLINE V slope(V, V, const P &) { return zero(); }
};

template <>
struct Function<Unary::square> {
  static HWY_INLINE V f(V x, const P &) { return hn::Mul(x, x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, hn::Add(a, a)); }
};

template <>
struct Function<Unary::sqrt> {
  static HWY_INLINE V f(V x, const P &) { return hn::Sqrt(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(hn::Mul(dy, set(0.5f)), a); }
};

template <>
struct Function<Unary::rsqrt> {
  static HWY_INLINE V f(V x, const P &) { return hn::Div(set(1), hn::Sqrt(x)); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return hn::Mul(hn::Mul(dy, set(-0.5f)), hn::Mul(hn::Mul(a, a), a));
  }
};

template <>
struct Function<Unary::exp> {
  static HWY_INLINE V f(V x, const P &) { return exp(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, a); }
};

template <>
struct Function<Unary::log> {
  static HWY_INLINE V f(V x, const P &) { return log(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(dy, a); }
};

template <>
struct Function<Unary::log1p> {
  static HWY_INLINE V f(V x, const P &) { return log1p(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(dy, hn::Add(set(1), a)); }
};

template <>
struct Function<Unary::expm1> {
  static HWY_INLINE V f(V x, const P &) { return expm1(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, hn::Add(a, set(1))); }
};

template <>
struct Function<Unary::sin> {
  static HWY_INLINE V f(V x, const P &) { return sin(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, cos(a)); }
};

template <>
struct Function<Unary::cos> {
  static HWY_INLINE V f(V x, const P &) { return cos(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Neg(hn::Mul(dy, sin(a))); }
};

template <>
struct Function<Unary::tan> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::tan); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, hn::MulAdd(a, a, set(1))); }
};

template <>
struct Function<Unary::asin> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::asin); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(dy, hn::Sqrt(one_less_square(a))); }
};

template <>
struct Function<Unary::acos> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::acos); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(hn::Neg(dy), hn::Sqrt(one_less_square(a))); }
};

template <>
struct Function<Unary::atan> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::atan); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(dy, hn::MulAdd(a, a, set(1))); }
};

template <>
struct Function<Unary::sinh> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::sinh); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, by_lane(a, math::cosh)); }
};

template <>
struct Function<Unary::cosh> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::cosh); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, by_lane(a, math::sinh)); }
};

template <>
struct Function<Unary::asinh> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::asinh); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(dy, hn::Sqrt(hn::MulAdd(a, a, set(1)))); }
};

template <>
struct Function<Unary::acosh> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::acosh); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return hn::Div(dy, hn::Mul(hn::Sqrt(hn::Sub(a, set(1))), hn::Sqrt(hn::Add(a, set(1)))));
  }
};

template <>
struct Function<Unary::atanh> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::atanh); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(dy, one_less_square(a)); }
};

template <>
struct Function<Unary::erfc> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::erfc); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return hn::Mul(hn::Mul(dy, set(-1.1283791670955126f)), exp(hn::Neg(hn::Mul(a, a))));
  }
};

template <>
struct Function<Unary::erfinv> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, erfinv); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return hn::Mul(hn::Mul(dy, set(0.88622692545275801f)), exp(hn::Mul(a, a)));
  }
};

template <>
struct Function<Unary::cbrt> {
  static HWY_INLINE V f(V x, const P &) { return by_lane(x, math::cbrt); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Div(dy, hn::Mul(hn::Mul(set(3), a), a)); }
};

template <>
struct Function<Unary::erf> {
  static HWY_INLINE V f(V x, const P &) { return erf(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return hn::Mul(hn::Mul(dy, set(1.1283791670955126f)), exp(hn::Neg(hn::Mul(a, a))));
  }
};

template <>
struct Function<Unary::floor> {
  static HWY_INLINE V f(V x, const P &) { return hn::Floor(x); }
  static HWY_INLINE V slope(V, V, const P &) { return zero(); }
};

template <>
struct Function<Unary::ceil> {
  static HWY_INLINE V f(V x, const P &) { return hn::Ceil(x); }
  static HWY_INLINE V slope(V, V, const P &) { return zero(); }
};

template <>
struct Function<Unary::round> {
  static HWY_INLINE V f(V x, const P &) { return hn::Round(x); }
  static HWY_INLINE V slope(V, V, const P &) { return zero(); }
};

template <>
struct Function<Unary::relu> {
  static HWY_INLINE V f(V x, const P &) { return relu(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return where(hn::Gt(a, zero()), dy, a); }
};

template <>
struct Function<Unary::relu6> {
  static HWY_INLINE V f(V x, const P &) { return relu6(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return where(hn::And(hn::Gt(a, zero()), hn::Lt(a, set(6))), dy, a);
  }
};

template <>
struct Function<Unary::leaky_relu> {
  static HWY_INLINE V f(V x, const P &p) { return hn::IfThenElse(hn::Gt(x, zero()), x, hn::Mul(x, p.p0)); }
  static HWY_INLINE V slope(V dy, V a, const P &p) {
    return hn::IfThenElse(hn::Gt(a, zero()), dy, hn::IfThenElse(hn::IsNaN(a), a, hn::Mul(dy, p.p0)));
  }
};

template <>
struct Function<Unary::relu_general> {
  static HWY_INLINE V f(V x, const P &p) {
    V y = hn::IfThenElse(hn::Le(x, p.p2), zero(), x);
    V clipped = min_nan(max_nan(y, zero()), p.p1);
    y = hn::IfThenElse(hn::Lt(p.p1, set(infinity)), clipped, y);
    return hn::IfThenElse(hn::Eq(p.p0, zero()), y, hn::NegMulAdd(p.p0, relu(hn::Sub(p.p2, x)), y));
  }
  static HWY_INLINE V slope(V dy, V a, const P &p) {
    // For the plain relu6 Keras clips with relu6, whose gradient at 6 is 0; otherwise with min and max, whose gradient
    // is not.
    auto six = hn::And(hn::Eq(p.p1, set(6)), hn::Eq(p.p2, zero()));
    auto unclipped = hn::Eq(p.p1, set(infinity));
    auto below_max = hn::Or(hn::Lt(a, p.p1), hn::AndNot(six, hn::Eq(a, p.p1)));
    auto passes = hn::And(hn::Gt(a, p.p2), hn::Or(unclipped, hn::And(below_max, hn::Ge(a, zero()))));
    // leaky_relu, which Keras uses without maximum and threshold, has its slope at 0 too.
    auto leaky = hn::And(unclipped, hn::And(hn::Eq(p.p2, zero()), hn::Eq(a, zero())));
    V d = hn::IfThenElse(passes, dy, zero());
    d = hn::Add(d, hn::IfThenElseZero(hn::Or(hn::Lt(a, p.p2), leaky), hn::Mul(p.p0, dy)));
    return hn::IfThenElse(hn::IsNaN(a), a, d);
  }
};

template <>
struct Function<Unary::elu> {
  static HWY_INLINE V f(V x, const P &p) { return hn::IfThenElse(hn::Gt(x, zero()), x, hn::Mul(p.p0, expm1(x))); }
  static HWY_INLINE V slope(V dy, V a, const P &p) {
    return hn::IfThenElse(hn::Gt(a, zero()), dy, hn::Mul(dy, hn::Add(a, p.p0)));
  }
  static HWY_INLINE V slope_of_input(V dy, V a, const P &p) {
    return hn::IfThenElse(hn::Gt(a, zero()), dy, hn::Mul(dy, hn::Mul(p.p0, exp(a))));
  }
};

template <>
struct Function<Unary::selu> {
  static HWY_INLINE V f(V x, const P &) {
    V below = hn::Mul(set(1.7580993408473766f), expm1(x));
    return hn::IfThenElse(hn::Gt(x, zero()), hn::Mul(set(1.0507009873554805f), x), below);
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V below = hn::Add(a, set(1.7580993408473766f));
    return hn::Mul(dy, hn::IfThenElse(hn::Gt(a, zero()), set(1.0507009873554805f), below));
  }
};

template <>
struct Function<Unary::celu> {
  static HWY_INLINE V f(V x, const P &p) {
    return hn::IfThenElse(hn::Gt(x, zero()), x, hn::Mul(p.p0, expm1(hn::Div(x, p.p0))));
  }
  static HWY_INLINE V slope(V dy, V a, const P &p) {
    return hn::IfThenElse(hn::Gt(a, zero()), dy, hn::Mul(dy, exp(hn::Div(a, p.p0))));
  }
};

template <>
struct Function<Unary::sigmoid> {
  static HWY_INLINE V f(V x, const P &) { return sigmoid(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, hn::Mul(a, hn::Sub(set(1), a))); }
};

template <>
struct Function<Unary::log_sigmoid> {
  static HWY_INLINE V f(V x, const P &) { return hn::Neg(softplus(hn::Neg(x))); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Neg(hn::Mul(dy, expm1(a))); }
};

template <>
struct Function<Unary::tanh> {
  static HWY_INLINE V f(V x, const P &) { return tanh(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Mul(dy, hn::NegMulAdd(a, a, set(1))); }
};

template <>
struct Function<Unary::softplus> {
  static HWY_INLINE V f(V x, const P &) { return softplus(x); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return hn::Neg(hn::Mul(dy, expm1(hn::Neg(a)))); }
};

template <>
struct Function<Unary::softsign> {
  static HWY_INLINE V f(V x, const P &) {
    V size = hn::Abs(x);
    return hn::IfThenElse(hn::Eq(size, set(infinity)), hn::CopySign(set(1), x), hn::Div(x, hn::Add(size, set(1))));
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V s = hn::Div(set(1), hn::Add(hn::Abs(a), set(1)));
    return hn::Mul(dy, hn::Mul(s, s));
  }
};

template <>
struct Function<Unary::gelu> {
  static HWY_INLINE V f(V x, const P &) {
    const V size = abs_of_normal(x);
    return hn::NegMulAdd(size, normal_tail(size), hn::Max(x, zero()));  // NaN comes by the size
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return hn::Mul(dy, hn::Add(normal_cdf(a), zero_far(a, hn::Mul(a, density(a)))));
  }
};

template <>
struct Function<Unary::gelu_tanh> {
  static HWY_INLINE V f(V x, const P &) {
    V inner = hn::Mul(set(0.7978845608028654f), hn::MulAdd(hn::Mul(set(0.044715f), x), hn::Mul(x, x), x));
    // (1 + tanh t) / 2 = sigmoid(2 t), without the cancellation.
    return zero_far_below(x, hn::Mul(x, sigmoid(hn::Add(inner, inner))));
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V a2 = hn::Mul(a, a);
    V inner = hn::Mul(set(1.5957691216057308f), hn::MulAdd(hn::Mul(set(0.044715f), a), a2, a));
    V s = sigmoid(inner), rest = sigmoid(hn::Neg(inner));
    V inner_slope = hn::Mul(set(1.5957691216057308f), hn::MulAdd(set(0.134145f), a2, set(1)));
    return hn::Mul(dy, hn::Add(s, zero_far(a, hn::Mul(hn::Mul(a, inner_slope), hn::Mul(s, rest)))));
  }
};

template <>
struct Function<Unary::silu> {
  static HWY_INLINE V f(V x, const P &) { return zero_far_below(x, hn::Mul(x, sigmoid(x))); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V s = sigmoid(a);
    return hn::Mul(dy, hn::Add(s, zero_far(a, hn::Mul(hn::Mul(a, s), hn::Sub(set(1), s)))));
  }
};

template <>
struct Function<Unary::mish> {
  static HWY_INLINE V f(V x, const P &) {
    V e = exp(hn::IfThenElse(hn::Gt(x, set(20)), set(20), x));
    V n = hn::Mul(e, hn::Add(e, set(2)));
    return zero_far_below(x, hn::Mul(x, hn::Div(n, hn::Add(n, set(2)))));
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V e = exp(hn::IfThenElse(hn::Gt(a, set(20)), set(20), a));
    V n = hn::Mul(e, hn::Add(e, set(2))), m = hn::Add(n, set(2));
    // tanh(softplus) = n / m, and 1 - tanh^2 = 4 (n + 1) / m^2.
    V curve = hn::Mul(hn::Div(hn::Mul(set(4), hn::Add(n, set(1))), hn::Mul(m, m)), hn::Div(e, hn::Add(e, set(1))));
    return hn::Mul(dy, hn::Add(hn::Div(n, m), zero_far(a, hn::Mul(a, curve))));
  }
};

template <>
struct Function<Unary::hard_sigmoid> {
  static HWY_INLINE V f(V x, const P &) { return hn::Div(relu6(hn::Add(x, set(3))), set(6)); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return where(hn::And(hn::Gt(a, zero()), hn::Lt(a, set(1))), hn::Div(dy, set(6)), a);
  }
};

template <>
struct Function<Unary::hard_sigmoid_v1> {
  static HWY_INLINE V f(V x, const P &) {
    return min_nan(max_nan(hn::Add(hn::Mul(x, set(0.2f)), set(0.5f)), zero()), set(1));
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V y = hn::Add(hn::Mul(a, set(0.2f)), set(0.5f));
    return where(hn::And(hn::Ge(y, zero()), hn::Le(y, set(1))), hn::Mul(dy, set(0.2f)), a);
  }
};

template <>
struct Function<Unary::hard_silu> {
  static HWY_INLINE V f(V x, const P &) {
    return zero_far_below(x, hn::Mul(x, hn::Div(relu6(hn::Add(x, set(3))), set(6))));
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V inside = hn::Div(hn::MulAdd(a, set(2), set(3)), set(6));
    V s = hn::IfThenElse(hn::Le(a, set(-3)), zero(), hn::IfThenElse(hn::Ge(a, set(3)), set(1), inside));
    return hn::Mul(dy, s);
  }
};

template <>
struct Function<Unary::hard_tanh> {
  static HWY_INLINE V f(V x, const P &) { return min_nan(max_nan(x, set(-1)), set(1)); }
  static HWY_INLINE V slope(V dy, V a, const P &) { return where(hn::Le(hn::Abs(a), set(1)), dy, a); }
};

template <>
struct Function<Unary::tanh_shrink> {
  static HWY_INLINE V f(V x, const P &) { return hn::Sub(x, tanh(x)); }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V t = tanh(a);
    return hn::Mul(dy, hn::Mul(t, t));
  }
};

template <>
struct Function<Unary::hard_shrink> {
  static HWY_INLINE V f(V x, const P &p) { return hn::IfThenElse(hn::Le(hn::Abs(x), p.p0), zero(), x); }
  static HWY_INLINE V slope(V dy, V a, const P &p) { return where(hn::Gt(hn::Abs(a), p.p0), dy, a); }
};

template <>
struct Function<Unary::soft_shrink> {
  static HWY_INLINE V f(V x, const P &p) {
    V y = hn::Sub(hn::Abs(x), p.p0);
    return hn::IfThenElse(hn::Le(y, zero()), zero(), hn::CopySign(y, x));
  }
  static HWY_INLINE V slope(V dy, V a, const P &p) { return where(hn::Gt(hn::Abs(a), p.p0), dy, a); }
};

template <>
struct Function<Unary::threshold> {
  static HWY_INLINE V f(V x, const P &p) { return hn::IfThenElse(hn::Le(x, p.p0), p.p1, x); }
  static HWY_INLINE V slope(V dy, V a, const P &p) { return where(hn::Gt(a, p.p0), dy, a); }
};

template <>
struct Function<Unary::squareplus> {
  static HWY_INLINE V f(V x, const P &p) { return hn::Mul(hn::Add(x, hn::Sqrt(hn::MulAdd(x, x, p.p0))), set(0.5f)); }
  static HWY_INLINE V slope(V dy, V a, const P &p) {
    V r = hn::Div(a, hn::Sqrt(hn::MulAdd(a, a, p.p0)));
    return hn::Mul(hn::Mul(dy, set(0.5f)), hn::Add(set(1), r));
  }
};

template <>
struct Function<Unary::sparse_plus> {
  static HWY_INLINE V f(V x, const P &) {
    V s = hn::Add(x, set(1));
    V y = hn::IfThenElse(hn::Ge(x, set(1)), x, hn::Mul(hn::Mul(s, s), set(0.25f)));
    return hn::IfThenElse(hn::Le(x, set(-1)), zero(), y);
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    V s = hn::IfThenElse(hn::Ge(a, set(1)), set(1), hn::Mul(hn::Add(a, set(1)), set(0.5f)));
    return hn::Mul(dy, hn::IfThenElse(hn::Le(a, set(-1)), zero(), s));
  }
};

template <>
struct Function<Unary::sparse_sigmoid> {
  static HWY_INLINE V f(V x, const P &) {
    return min_nan(max_nan(hn::Mul(hn::Add(x, set(1)), set(0.5f)), zero()), set(1));
  }
  static HWY_INLINE V slope(V dy, V a, const P &) {
    return where(hn::Lt(hn::Abs(a), set(1)), hn::Mul(dy, set(0.5f)), a);
  }
};

template <>
struct Function<Unary::clip> {
  static HWY_INLINE V f(V x, const P &p) { return min_nan(max_nan(x, p.p0), p.p1); }
  static HWY_INLINE V slope(V dy, V a, const P &p) { return where(hn::And(hn::Ge(a, p.p0), hn::Le(a, p.p1)), dy, a); }
};

template <>
struct Function<Unary::scale_shift> {
  static HWY_INLINE V f(V x, const P &p) { return hn::Add(hn::Mul(x, p.p0), p.p1); }
  static HWY_INLINE V slope(V dy, V, const P &p) { return hn::Mul(dy, p.p0); }
};

// Functions of a few instructions, where the remainder of a row matters.
constexpr bool is_short(Unary f) {
  return f == Unary::neg || f == Unary::abs || f == Unary::sign || f == Unary::square || f == Unary::sqrt ||
         f == Unary::floor || f == Unary::ceil || f == Unary::round || f == Unary::relu || f == Unary::relu6 ||
         f == Unary::leaky_relu || f == Unary::clip || f == Unary::scale_shift;
}
// f(i, io) over every vector of n floats; long functions are instantiated once.
struct Some {
  int64_t n;
  HWY_INLINE V get(const float *p) const { return n >= lanes ? load(p) : load_n(p, n); }
  HWY_INLINE void put(V v, float *p) const { n >= lanes ? store(v, p) : store_n(v, p, n); }
};
template <Unary F, class Go>
HWY_INLINE void each_of(int64_t n, const Go &go) {
  if constexpr (is_short(F)) return each(n, go);
  for (int64_t i = 0; i < n; i += lanes) go(i, Some{n - i});
}

template <Unary F>
void run(const UnaryRows &r) {
  const P p{set(r.p[0]), set(r.p[1]), set(r.p[2])};
  const float *x = r.x;
  float *y = r.y;
  for (int64_t i = 0; i < r.rows; ++i, x += r.ld, y += r.ld)
    each_of<F>(r.cols, [=](int64_t j, auto io) HWY_ATTR { io.put(Function<F>::f(io.get(x + j), p), y + j); });
}

template <Unary F>
void run_grad(const float *params, const float *dy, const float *a, float *dx, int64_t n) {
  const P p{set(params[0]), set(params[1]), set(params[2])};
  if constexpr (F == Unary::elu)
    if (grad_from(F, params) == GradFrom::input)
      return each_of<F>(n, [=](int64_t i, auto io) HWY_ATTR {
        io.put(Function<F>::slope_of_input(io.get(dy + i), io.get(a + i), p), dx + i);
      });
  each_of<F>(
      n, [=](int64_t i, auto io) HWY_ATTR { io.put(Function<F>::slope(io.get(dy + i), io.get(a + i), p), dx + i); });
}

// Calls go(constant of f).
template <int I = 0, class Go>
void choose(Unary f, const Go &go) {
  if constexpr (I < static_cast<int>(Unary::count_)) {
    if (f != static_cast<Unary>(I)) return choose<I + 1>(f, go);
    go(std::integral_constant<Unary, static_cast<Unary>(I)>());
  }
}

}  // namespace

void unary_all(Unary f, const UnaryRows &r) {
  choose(f, [&](auto known) { run<known()>(r); });
}
void unary_grad_all(Unary f, const float *p, const float *dy, const float *a, float *dx, int64_t n) {
  choose(f, [&](auto known) { run_grad<known()>(p, dy, a, dx, n); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(unary_all);
HWY_EXPORT(unary_grad_all);

namespace {
void run(Unary f, const float *params, UnaryRows r) {
  for (int i = 0; i < info(f).params; ++i) r.p[i] = params[i];
  HWY_DYNAMIC_DISPATCH(unary_all)(f, r);
}
}  // namespace

void unary(Unary f, const float *params, const float *x, float *y, int64_t n) noexcept { run(f, params, {x, y, 1, n}); }

void unary_rows(Unary f, const float *params, float *x, int64_t rows, int64_t cols, int64_t ld) noexcept {
  if (cols == ld) cols *= rows, rows = 1;
  run(f, params, {x, x, rows, cols, ld});
}

void unary_grad(Unary f, const float *params, const float *dy, const float *x_or_y, float *dx, int64_t n) noexcept {
  float p[3] = {};
  for (int i = 0; i < info(f).params; ++i) p[i] = params[i];
  HWY_DYNAMIC_DISPATCH(unary_grad_all)(f, p, dy, x_or_y, dx, n);
}

}  // namespace dl4::kernels
#endif
