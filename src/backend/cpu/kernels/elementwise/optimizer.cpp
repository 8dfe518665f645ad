// Optimizer updates, by instruction set.
#include "backend/cpu/kernels/elementwise/optimizer.hpp"

#include <array>
#include <cmath>

#include "backend/cpu/kernels/simd/simd.hpp"
#include "base/math.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise/optimizer.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE V number(double v) { return set(static_cast<float>(v)); }

// The common loop: weight decay on w, then w = step(i, io, w, g).
template <class O, class Step>
HWY_INLINE void each_weight(const O &o, const Now &now, float *w, const float *g, int64_t n, const Step &step) {
  const V decay = number(o.weight_decay), rate = set(now.lr);
  const bool decays = o.weight_decay != 0;
  each(n, [&](int64_t i, auto io) HWY_ATTR {
    V weight = io.get(w + i);
    if (decays) weight = hn::Sub(weight, hn::Mul(hn::Mul(weight, decay), rate));
    io.put(step(i, io, weight, io.get(g + i)), w + i);
  });
}

// p[i] += (v - p[i]) * rate; returns the new value.
template <class Io>
HWY_INLINE V approach(Io io, float *p, V v, V rate) {
  const V old = io.get(p), now = hn::MulAdd(hn::Sub(v, old), rate, old);
  io.put(now, p);
  return now;
}

HWY_INLINE V square(V v) { return hn::Mul(v, v); }

// p[i] = keep * p[i] + (1 - keep) * v.
template <class Io>
HWY_INLINE V mix(Io io, float *p, V keep, V rest, V v) {
  const V now = hn::MulAdd(keep, io.get(p), hn::Mul(rest, v));
  io.put(now, p);
  return now;
}

// A power with float32 base, as in Keras.
float power(double base, int64_t t) { return math::pow(static_cast<float>(base), static_cast<float>(t)); }

// 1, -1, or x itself for 0 and NaN.
HWY_INLINE V sign(V x) {
  const V zero = set(0), one = set(1);
  return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), x));
}

HWY_INLINE V to_power(V x, float p) {
  if (p == 0.5f) return hn::Sqrt(x);
  std::array<float, static_cast<size_t>(lanes)> values;
  store(x, values.data());
  for (float &v : values) v = math::pow(v, p);
  return load(values.data());
}

}  // namespace

void sgd_all(const Sgd &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const V rate = set(now.lr), mu = number(o.momentum);
  if (o.momentum == 0)
    return each_weight(o, now, w, g, n, [&](int64_t, auto, V x, V d) HWY_ATTR { return hn::NegMulAdd(rate, d, x); });
  const bool nesterov = o.nesterov;
  float *m = slots[0];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V step = hn::Mul(rate, d), velocity = hn::Sub(hn::Mul(mu, io.get(m + i)), step);
    io.put(velocity, m + i);
    return hn::Add(x, nesterov ? hn::Sub(hn::Mul(mu, velocity), step) : velocity);
  });
}

void adam_all(const Adam &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const float alpha = now.lr * std::sqrt(1 - power(o.beta_2, now.t)) / (1 - power(o.beta_1, now.t));
  const V a = set(alpha), r1 = number(1 - o.beta_1), r2 = number(1 - o.beta_2), eps = number(o.epsilon);
  float *m = slots[0], *v = slots[1], *vhat = o.amsgrad ? slots[2] : nullptr;
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V first = approach(io, m + i, d, r1);
    V second = approach(io, v + i, square(d), r2);
    if (vhat) {
      second = max_nan(io.get(vhat + i), second);
      io.put(second, vhat + i);
    }
    return hn::Sub(x, hn::Div(hn::Mul(first, a), hn::Add(hn::Sqrt(second), eps)));
  });
}

void rms_prop_all(const RmsProp &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const V rate = set(now.lr), rho = number(o.rho), rest = number(1 - o.rho), eps = number(o.epsilon);
  const V mu = number(o.momentum);
  float *v = slots[0], *m = o.momentum > 0 ? slots[1] : nullptr, *mean = o.centered ? slots[m ? 2 : 1] : nullptr;
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    V below = mix(io, v + i, rho, rest, square(d));
    if (mean) below = hn::Sub(below, square(mix(io, mean + i, rho, rest, d)));
    V step = hn::Div(hn::Mul(rate, d), hn::Sqrt(hn::Add(below, eps)));
    if (m) {
      step = hn::MulAdd(mu, io.get(m + i), step);
      io.put(step, m + i);
    }
    return hn::Sub(x, step);
  });
}

void adagrad_all(const Adagrad &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const V rate = set(now.lr), eps = number(o.epsilon);
  float *sum = slots[0];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V squares = hn::Add(io.get(sum + i), square(d));
    io.put(squares, sum + i);
    return hn::Sub(x, hn::Div(hn::Mul(rate, d), hn::Sqrt(hn::Add(squares, eps))));
  });
}

void adadelta_all(const Adadelta &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const V rate = set(now.lr), rho = number(o.rho), rest = number(1 - o.rho), eps = number(o.epsilon);
  float *squares = slots[0], *steps = slots[1];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V below = hn::Sqrt(hn::Add(mix(io, squares + i, rho, rest, square(d)), eps));
    const V step = hn::Div(hn::Mul(hn::Sqrt(hn::Add(io.get(steps + i), eps)), d), below);
    mix(io, steps + i, rho, rest, square(step));
    return hn::NegMulAdd(rate, step, x);
  });
}

void adamax_all(const Adamax &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const V rate = set(now.lr), r1 = number(1 - o.beta_1), b2 = number(o.beta_2), eps = number(o.epsilon);
  const V corrected = set(1 - power(o.beta_1, now.t));
  float *m = slots[0], *norm = slots[1];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V first = approach(io, m + i, d, r1), largest = max_nan(hn::Mul(b2, io.get(norm + i)), hn::Abs(d));
    io.put(largest, norm + i);
    return hn::Sub(x, hn::Div(hn::Mul(rate, first), hn::Mul(corrected, hn::Add(largest, eps))));
  });
}

void nadam_all(const Nadam &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const auto b1 = static_cast<float>(o.beta_1), b2 = static_cast<float>(o.beta_2);
  auto mu = [&](int64_t t) { return b1 * (1 - 0.5f * power(0.96, t)); };
  const float mu_now = mu(now.t), mu_next = mu(now.t + 1), product = now.number;
  const V rate = set(now.lr), r1 = set(1 - b1), r2 = set(1 - b2), eps = number(o.epsilon);
  const V of_m = set(mu_next / (1 - product * mu_next)), of_g = set((1 - mu_now) / (1 - product));
  const V corrected = set(1 - power(o.beta_2, now.t));
  float *m = slots[0], *v = slots[1];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V first = hn::MulAdd(of_m, approach(io, m + i, d, r1), hn::Mul(of_g, d));
    const V second = hn::Div(approach(io, v + i, square(d), r2), corrected);
    return hn::Sub(x, hn::Div(hn::Mul(first, rate), hn::Add(hn::Sqrt(second), eps)));
  });
}

void lion_all(const Lion &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const auto f1 = static_cast<float>(o.beta_1), f2 = static_cast<float>(o.beta_2);
  const V rate = set(now.lr), b1 = set(f1), r1 = set(1 - f1), b2 = set(f2), r2 = set(1 - f2);
  float *m = slots[0];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V direction = sign(hn::Add(hn::Mul(io.get(m + i), b1), hn::Mul(d, r1)));
    mix(io, m + i, b2, r2, d);
    return hn::NegMulAdd(rate, direction, x);
  });
}

void ftrl_all(const Ftrl &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const float p = static_cast<float>(-o.power), l1 = static_cast<float>(o.l1);
  const V rate = set(now.lr), shrink = number(2 * o.l2_shrinkage), high = set(l1), low = set(-l1);
  const V l2 = set(2 * (static_cast<float>(o.l2) + static_cast<float>(o.beta) / (2 * now.lr)));
  float *sum = slots[0], *linear = slots[1];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V before = io.get(sum + i), after = hn::Add(before, square(d)), root = to_power(after, p);
    const V sigma = hn::Div(hn::Sub(root, to_power(before, p)), rate);
    const V z = hn::Add(io.get(linear + i), hn::Sub(hn::Add(d, hn::Mul(shrink, x)), hn::Mul(sigma, x)));
    io.put(after, sum + i);
    io.put(z, linear + i);
    return hn::Div(hn::Sub(min_nan(max_nan(z, low), high), z), hn::Add(hn::Div(root, rate), l2));
  });
}

void lamb_all(const Lamb &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) {
  const V r1 = number(1 - o.beta_1), r2 = number(1 - o.beta_2), eps = number(o.epsilon);
  const V c1 = set(1 - power(o.beta_1, now.t)), c2 = set(1 - power(o.beta_2, now.t));
  float *m = slots[0], *v = slots[1];
  each_weight(o, now, w, g, n, [&](int64_t i, auto io, V, V d) HWY_ATTR {
    const V first = hn::Div(approach(io, m + i, d, r1), c1), second = approach(io, v + i, square(d), r2);
    return hn::Div(first, hn::Add(hn::Sqrt(hn::Div(second, c2)), eps));
  });
}

void average_all(const Average &o, const Now &now, float *w, const float *g, float *const *, int64_t n) {
  const V rate = set(now.lr);
  each_weight(o, now, w, g, n, [&](int64_t, auto, V x, V d) HWY_ATTR { return hn::MulAdd(hn::Sub(d, x), rate, x); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {

#define DL4_DISPATCH(Rule, rule_all)                                                                              \
  HWY_EXPORT(rule_all);                                                                                           \
  void update(const Rule &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) noexcept { \
    HWY_DYNAMIC_DISPATCH(rule_all)(o, now, w, g, slots, n);                                                       \
  }
DL4_DISPATCH(Sgd, sgd_all)
DL4_DISPATCH(Adam, adam_all)
DL4_DISPATCH(RmsProp, rms_prop_all)
DL4_DISPATCH(Adagrad, adagrad_all)
DL4_DISPATCH(Adadelta, adadelta_all)
DL4_DISPATCH(Adamax, adamax_all)
DL4_DISPATCH(Nadam, nadam_all)
DL4_DISPATCH(Lion, lion_all)
DL4_DISPATCH(Ftrl, ftrl_all)
DL4_DISPATCH(Lamb, lamb_all)
DL4_DISPATCH(Average, average_all)
#undef DL4_DISPATCH

}  // namespace dl4::kernels
#endif
