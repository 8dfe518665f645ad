// Functions of one value, by instruction set.
#include "kernels/elementwise/elementwise.hpp"

#ifndef DL4_KERNELS_UNARY_ROWS
#define DL4_KERNELS_UNARY_ROWS
namespace dl4::kernels {
struct UnaryRows {
  const float *x;
  float *y;
  int64_t rows, cols, ld = 0;
  float p[3] = {};
};
}  // namespace dl4::kernels
#endif

#include "kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE V relu(V x) { return hn::IfThenElse(hn::Le(x, hn::Zero(D())), hn::Zero(D()), x); }
HWY_INLINE V relu6(V x) { return hn::IfThenElse(hn::Gt(x, set(6)), set(6), relu(x)); }

// Formulas whose limit at -infinity is 0 but whose factors are infinity and 0.
HWY_INLINE V zero_far_below(V x, V y) { return hn::IfThenElse(hn::Lt(x, set(-104)), hn::Zero(D()), y); }

template <Unary F>
HWY_INLINE V value(V x, V p0, V p1, V p2) {
  const V zero = hn::Zero(D()), one = set(1);
  if constexpr (F == Unary::neg)
    return hn::Neg(x);
  else if constexpr (F == Unary::abs)
    return hn::Abs(x);
  else if constexpr (F == Unary::sign)
    return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), set(-1), x));
  else if constexpr (F == Unary::square)
    return hn::Mul(x, x);
  else if constexpr (F == Unary::sqrt)
    return hn::Sqrt(x);
  else if constexpr (F == Unary::rsqrt)
    return hn::Div(one, hn::Sqrt(x));
  else if constexpr (F == Unary::exp)
    return exp(x);
  else if constexpr (F == Unary::log)
    return log(x);
  else if constexpr (F == Unary::log1p)
    return log1p(x);
  else if constexpr (F == Unary::expm1)
    return expm1(x);
  else if constexpr (F == Unary::sin)
    return sin(x);
  else if constexpr (F == Unary::cos)
    return cos(x);
  else if constexpr (F == Unary::erf)
    return erf(x);
  else if constexpr (F == Unary::floor)
    return hn::Floor(x);
  else if constexpr (F == Unary::ceil)
    return hn::Ceil(x);
  else if constexpr (F == Unary::round)
    return hn::Round(x);
  else if constexpr (F == Unary::relu)
    return relu(x);
  else if constexpr (F == Unary::relu6)
    return relu6(x);
  else if constexpr (F == Unary::leaky_relu)
    return hn::IfThenElse(hn::Gt(x, zero), x, hn::Mul(x, p0));
  else if constexpr (F == Unary::relu_general) {
    V y = hn::IfThenElse(hn::Le(x, p2), zero, x);
    V clipped = min_nan(max_nan(y, zero), p1);
    y = hn::IfThenElse(hn::Lt(p1, set(infinity)), clipped, y);
    return hn::IfThenElse(hn::Eq(p0, zero), y, hn::NegMulAdd(p0, relu(hn::Sub(p2, x)), y));
  } else if constexpr (F == Unary::elu)
    return hn::IfThenElse(hn::Gt(x, zero), x, hn::Mul(p0, expm1(x)));
  else if constexpr (F == Unary::selu) {
    V below = hn::Mul(set(1.7580993408473766f), expm1(x));
    return hn::IfThenElse(hn::Gt(x, zero), hn::Mul(set(1.0507009873554805f), x), below);
  } else if constexpr (F == Unary::celu)
    return hn::IfThenElse(hn::Gt(x, zero), x, hn::Mul(p0, expm1(hn::Div(x, p0))));
  else if constexpr (F == Unary::sigmoid)
    return sigmoid(x);
  else if constexpr (F == Unary::log_sigmoid)
    return hn::Neg(softplus(hn::Neg(x)));
  else if constexpr (F == Unary::tanh)
    return tanh(x);
  else if constexpr (F == Unary::softplus)
    return softplus(x);
  else if constexpr (F == Unary::softsign) {
    V a = hn::Abs(x);
    return hn::IfThenElse(hn::Eq(a, set(infinity)), hn::CopySign(one, x), hn::Div(x, hn::Add(a, one)));
  } else if constexpr (F == Unary::gelu) {
    const V a = abs_of_normal(x);
    return hn::NegMulAdd(a, normal_tail(a), relu(x));
  } else if constexpr (F == Unary::gelu_tanh) {
    V inner = hn::Mul(set(0.7978845608028654f), hn::MulAdd(hn::Mul(set(0.044715f), x), hn::Mul(x, x), x));
    // (1 + tanh t) / 2 = sigmoid(2 t), without its cancellation.
    return zero_far_below(x, hn::Mul(x, sigmoid(hn::Add(inner, inner))));
  } else if constexpr (F == Unary::silu)
    return zero_far_below(x, hn::Mul(x, sigmoid(x)));
  else if constexpr (F == Unary::mish) {
    V e = exp(hn::IfThenElse(hn::Gt(x, set(20)), set(20), x));
    V n = hn::Mul(e, hn::Add(e, set(2)));
    return zero_far_below(x, hn::Mul(x, hn::Div(n, hn::Add(n, set(2)))));
  } else if constexpr (F == Unary::hard_sigmoid)
    return hn::Div(relu6(hn::Add(x, set(3))), set(6));
  else if constexpr (F == Unary::hard_sigmoid_v1)
    return min_nan(max_nan(hn::Add(hn::Mul(x, set(0.2f)), set(0.5f)), zero), one);
  else if constexpr (F == Unary::hard_silu)
    return zero_far_below(x, hn::Mul(x, hn::Div(relu6(hn::Add(x, set(3))), set(6))));
  else if constexpr (F == Unary::hard_tanh)
    return min_nan(max_nan(x, set(-1)), one);
  else if constexpr (F == Unary::tanh_shrink)
    return hn::Sub(x, tanh(x));
  else if constexpr (F == Unary::hard_shrink)
    return hn::IfThenElse(hn::Le(hn::Abs(x), p0), zero, x);
  else if constexpr (F == Unary::soft_shrink) {
    V y = hn::Sub(hn::Abs(x), p0);
    return hn::IfThenElse(hn::Le(y, zero), zero, hn::CopySign(y, x));
  } else if constexpr (F == Unary::threshold)
    return hn::IfThenElse(hn::Le(x, p0), p1, x);
  else if constexpr (F == Unary::squareplus)
    return hn::Mul(hn::Add(x, hn::Sqrt(hn::MulAdd(x, x, p0))), set(0.5f));
  else if constexpr (F == Unary::sparse_plus) {
    V s = hn::Add(x, one);
    V y = hn::IfThenElse(hn::Ge(x, one), x, hn::Mul(hn::Mul(s, s), set(0.25f)));
    return hn::IfThenElse(hn::Le(x, set(-1)), zero, y);
  } else if constexpr (F == Unary::sparse_sigmoid)
    return min_nan(max_nan(hn::Mul(hn::Add(x, one), set(0.5f)), zero), one);
  else if constexpr (F == Unary::clip)
    return min_nan(max_nan(x, p0), p1);
  else {
    static_assert(F == Unary::scale_shift);
    return hn::Add(hn::Mul(x, p0), p1);
  }
}

template <Unary F>
void run(const UnaryRows &r) {
  const V p0 = set(r.p[0]), p1 = set(r.p[1]), p2 = set(r.p[2]);
  for (int64_t i = 0; i < r.rows; ++i)
    map(r.x + i * r.ld, r.y + i * r.ld, r.cols, [=](V v) HWY_ATTR { return value<F>(v, p0, p1, p2); });
}

template <int I = 0>
void choose(Unary f, const UnaryRows &r) {
  if constexpr (I < static_cast<int>(Unary::count_)) {
    constexpr Unary F = static_cast<Unary>(I);
    if (f != F) return choose<I + 1>(f, r);
    run<F>(r);
  }
}

}  // namespace

void unary_all(Unary f, const UnaryRows &r) { choose(f, r); }

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(unary_all);

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

}  // namespace dl4::kernels
#endif
