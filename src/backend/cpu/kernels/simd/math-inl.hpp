// Per instruction set: elementary functions of float vectors, accurate to a few ulps. NaN gives NaN and infinities are
// right; Highway's own versions give 0 for NaN.
#if defined(DL4_KERNELS_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_MATH_INL
#undef DL4_KERNELS_MATH_INL
#else
#define DL4_KERNELS_MATH_INL
#endif

#include <limits>

#include "backend/cpu/kernels/simd/simd-inl.hpp"
#include "base/math.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

// Horner's method; highest power first.
template <class... C>
HWY_INLINE V poly(V x, float first, C... rest) {
  V r = set(first);
  ((r = hn::MulAdd(r, x, set(rest))), ...);
  return r;
}

// x within a limit; NaN stays NaN, as the second operand of x86.
HWY_INLINE V at_most(V x, float most) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
  return hn::Min(set(most), x);
#else
  return hn::IfThenElse(hn::Gt(x, set(most)), set(most), x);
#endif
}
HWY_INLINE V at_least(V x, float least) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
  return hn::Max(set(least), x);
#else
  return hn::IfThenElse(hn::Lt(x, set(least)), set(least), x);
#endif
}

// 2^n for -126 <= n <= 127; bits of n above the ninth don't count.
HWY_INLINE V power_of_2(VI n) { return hn::BitCast(D(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(DI(), 127)))); }

// Adding it rounds to an integer, in the lowest nine bits: 1.5 * 2^23.
inline constexpr float rounding = 12582912.0f;

struct Reduced {
  V n, r;   // x = n ln 2 + r, |r| <= ln 2 / 2
  VI bits;  // of n, the lowest nine
};
// For |x| below 2^21; beyond, n is arbitrary.
HWY_INLINE Reduced reduce_ln2(V x) {
  const V shifted = hn::MulAdd(x, set(1.44269504088896341f), set(rounding)), n = hn::Sub(shifted, set(rounding));
  const V r = hn::NegMulAdd(n, set(0.693359375f), x);
  return {n, hn::NegMulAdd(n, set(-2.12194440e-4f), r), hn::BitCast(DI(), shifted)};
}

// exp(r) - 1 for |r| <= ln 2 / 2.
HWY_INLINE V exp_rest(V r) {
  const V p = poly(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                   5.0000001201e-1f);
  return hn::MulAdd(p, hn::Mul(r, r), r);
}

// exp(x), for x below 89; 0 far below.
HWY_INLINE V exp_below_89(V x) {
  const auto [n, r, bits] = reduce_ln2(at_least(x, -104));
  const V y = hn::Add(exp_rest(r), set(1));
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_scalef_ps(y.raw, n.raw)};
#else
  // In two steps, as the power may be no normal number.
  const VI all = hn::Sub(bits, hn::BitCast(DI(), set(rounding))), half = hn::ShiftRight<1>(all);
  return hn::Mul(hn::Mul(y, power_of_2(half)), power_of_2(hn::Sub(all, half)));
#endif
}
HWY_INLINE V exp(V x) { return exp_below_89(at_most(x, 89)); }

// 2^r for |r| <= 1 / 2.
HWY_INLINE V two_to(V r) {
  return poly(r, 1.5345811929e-4f, 1.3399931384e-3f, 9.6184889587e-3f, 5.5503287766e-2f, 2.4022646891e-1f,
              6.9314720574e-1f, 1.0f);
}

// exp(x) for x <= 0, as in attention; 0 below the least normal number.
HWY_INLINE V exp_negative(V x) {
  const V log2_e = set(1.44269504088896341f);
  const V shifted = hn::MulAdd(x, log2_e, set(rounding));
  const V r = hn::MulSub(x, log2_e, hn::Sub(shifted, set(rounding)));
  const V scaled = hn::Mul(two_to(r), power_of_2(hn::BitCast(DI(), shifted)));
  return hn::IfThenElse(hn::Lt(x, set(-87.33f)), hn::Zero(D()), scaled);
}

HWY_INLINE V expm1(V x) {
  const auto [n, r, bits] = reduce_ln2(at_most(at_least(x, -26), 89));
  const V scale = power_of_2(hn::Sub(bits, hn::Set(DI(), 1)));  // 2^(n - 1), as 2^n may overflow
  const V y = hn::MulAdd(exp_rest(r), scale, hn::Sub(scale, set(0.5f)));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, hn::Add(y, y));  // keeps -0
}

// exp(x) - 1 for x <= 0; -1 below -25.
HWY_INLINE V expm1_negative(V x) {
  const auto [n, r, bits] = reduce_ln2(at_least(x, -25));
  const V scale = power_of_2(bits);
  return hn::MulAdd(exp_rest(r), scale, hn::Sub(scale, set(1)));
}

HWY_INLINE V log(V x) {
  auto denormal = hn::Lt(x, set(std::numeric_limits<float>::min()));
  V scaled = hn::IfThenElse(denormal, hn::Mul(x, set(8388608.0f)), x);
  VI bits = hn::BitCast(DI(), scaled);
  // Reduces the mantissa to [sqrt(1/2), sqrt(2)).
  VI offset = hn::Sub(bits, hn::Set(DI(), 0x3f3504f3));
  V e = hn::ConvertTo(D(), hn::ShiftRight<23>(offset));
  e = hn::Sub(e, hn::IfThenElseZero(denormal, set(23)));
  V m = hn::BitCast(D(), hn::Add(hn::And(offset, hn::Set(DI(), 0x7fffff)), hn::Set(DI(), 0x3f3504f3)));
  V f = hn::Sub(m, set(1));
  V f2 = hn::Mul(f, f);
  V p = poly(f, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
             -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  V y = hn::Mul(hn::Mul(p, f), f2);
  y = hn::MulAdd(e, set(-2.12194440e-4f), y);
  y = hn::NegMulAdd(f2, set(0.5f), y);
  y = hn::MulAdd(e, set(0.693359375f), hn::Add(f, y));
  y = hn::IfThenElse(hn::Lt(x, set(infinity)), y, x);  // keeps infinity and NaN
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(D())), set(-infinity), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), set(std::numeric_limits<float>::quiet_NaN()), y);
}

HWY_INLINE V log1p(V x) {
  V u = hn::Add(x, set(1));
  V lost = hn::Div(hn::Sub(x, hn::Sub(u, set(1))), u);
  V y = log(u);
  y = hn::IfThenElse(hn::And(hn::Gt(u, hn::Zero(D())), hn::Lt(u, set(infinity))), hn::Add(y, lost), y);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, y);
}

HWY_INLINE V reciprocal(V x) { return hn::Div(set(1), x); }

HWY_INLINE V tanh(V x) {
  const V e = expm1_negative(hn::Mul(hn::Abs(x), set(-2)));
  return hn::CopySign(hn::Mul(e, reciprocal(hn::Add(e, set(2)))), x);  // the size is -tanh |x|
}

HWY_INLINE V sigmoid(V x) { return reciprocal(hn::Add(set(1), exp(hn::Neg(x)))); }

// log(1 + exp(x)) without overflow.
HWY_INLINE V softplus(V x) {
  V positive = hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Zero(D()), x);
  return hn::Add(log1p(exp(hn::Neg(hn::Abs(x)))), positive);
}

// |x|, limited such that 2^(-x^2 log2(e) / 2) is a normal number.
HWY_INLINE V abs_of_normal(V x) { return at_most(hn::Abs(x), 13.2f); }

// The normal distribution function at -a, for a from 0 to 13.2: the density times a polynomial in 1 / (1 + 0.3 a),
// fitted to 6e-8.
HWY_INLINE V normal_tail(V a) {
  const V t = reciprocal(hn::MulAdd(a, set(0.3f), set(1)));
  const V power = hn::Mul(hn::Mul(a, a), set(-0.72134752044448170f));
  const V shifted = hn::Add(power, set(rounding)), r = hn::Sub(power, hn::Sub(shifted, set(rounding)));
  const V density = hn::Mul(two_to(r), power_of_2(hn::BitCast(DI(), shifted)));
  return hn::Mul(density, poly(t, 0.0382990316f, -0.168780267f, 0.227861598f, -0.0755914152f, 0.141902044f,
                               0.0949540809f, 0.121850908f, 0.119497456f, 6.59316765e-06f));
}

// The normal distribution function.
HWY_INLINE V normal_cdf(V x) {
  const V tail = normal_tail(abs_of_normal(x));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(D())), hn::Sub(set(1), tail), tail);
}

struct SinCos {
  V sin, cos;
};
// For |x| up to 8192.
HWY_INLINE SinCos sin_cos(V x) {
  VI k = hn::NearestInt(hn::Mul(x, set(0.63661977236758134f)));
  V kf = hn::ConvertTo(D(), k);
  V r = hn::NegMulAdd(kf, set(1.5703125f), x);
  r = hn::NegMulAdd(kf, set(4.837512969970703125e-4f), r);
  r = hn::NegMulAdd(kf, set(7.54978995489188216e-8f), r);
  V r2 = hn::Mul(r, r);
  V s = hn::MulAdd(hn::Mul(poly(r2, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f), r2), r, r);
  V c = hn::MulAdd(hn::Mul(poly(r2, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f), r2), r2,
                   hn::NegMulAdd(r2, set(0.5f), set(1)));
  VI one = hn::Set(DI(), 1), two = hn::Set(DI(), 2);
  auto swap = hn::RebindMask(D(), hn::Eq(hn::And(k, one), one));
  V sin_sign = hn::BitCast(D(), hn::ShiftLeft<30>(hn::And(k, two)));
  V cos_sign = hn::BitCast(D(), hn::ShiftLeft<30>(hn::And(hn::Add(k, one), two)));
  return {hn::Xor(hn::IfThenElse(swap, c, s), sin_sign), hn::Xor(hn::IfThenElse(swap, s, c), cos_sign)};
}

// f lane by lane, rounded from double.
HWY_INLINE V by_lane(V x, double (*f)(double) noexcept) {
  HWY_ALIGN float values[lanes];
  hn::Store(x, D(), values);
  for (float &v : values) v = static_cast<float>(f(static_cast<double>(v)));
  return hn::Load(D(), values);
}

// Replaces y by f(x) where x is out of range for sin_cos.
HWY_INLINE V far_out(V x, V y, double (*f)(double) noexcept) {
  const auto far = hn::Gt(hn::Abs(x), set(8192));
  return hn::AllFalse(D(), far) ? y : hn::IfThenElse(far, by_lane(x, f), y);
}
HWY_INLINE V sin(V x) { return far_out(x, sin_cos(x).sin, math::sin); }
HWY_INLINE V cos(V x) { return far_out(x, sin_cos(x).cos, math::cos); }

// Up to 1 by the odd polynomial of Cephes (ndtr.c), beyond by the normal distribution.
HWY_INLINE V erf(V x) {
  const V x2 = hn::Mul(x, x);
  const V near =
      hn::Mul(x, poly(x2, 7.853861353153693e-5f, -8.010193625184903e-4f, 5.188327685732524e-3f, -2.685381193529856e-2f,
                      1.128358514861418e-1f, -3.761262582423300e-1f, 1.128379165726710f));
  const V tail = normal_tail(abs_of_normal(hn::Mul(x, set(1.4142135623730951f))));
  const V far = hn::CopySign(hn::NegMulAdd(set(2), tail, set(1)), x);
  return hn::IfThenElse(hn::Gt(hn::Abs(x), set(1)), far, near);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
