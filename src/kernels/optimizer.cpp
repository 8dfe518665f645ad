// Optimizer updates, by instruction set.
#include "kernels/optimizer.hpp"

#include <cmath>

#include "kernels/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE V number(double v) { return set(static_cast<float>(v)); }

// Every update: read and scale g, decay w, step(i, io, w, g) gives the new w.
template <class O, class Step>
HWY_INLINE void update(const O &o, float *w, const float *g, int64_t n, const Step &step) {
  const V scale = number(o.grad_scale), decay = number(o.decay), lr = number(o.lr);
  const bool decays = o.decay != 0;
  each(n, [&](int64_t i, auto io) HWY_ATTR {
    V weight = io.get(w + i);
    if (decays) weight = hn::Sub(weight, hn::Mul(hn::Mul(weight, decay), lr));
    io.put(step(i, io, weight, hn::Mul(io.get(g + i), scale)), w + i);
  });
}

// p[i] += (v - p[i]) * rate, and its new value.
template <class Io>
HWY_INLINE V approach(Io io, float *p, V v, V rate) {
  const V old = io.get(p), now = hn::MulAdd(hn::Sub(v, old), rate, old);
  io.put(now, p);
  return now;
}

// p[i] = rho * p[i] + rest * v, and that.
template <class Io>
HWY_INLINE V blend(Io io, float *p, V rho, V v, V rest) {
  const V now = hn::MulAdd(rho, io.get(p), hn::Mul(rest, v));
  io.put(now, p);
  return now;
}

HWY_INLINE V square(V v) { return hn::Mul(v, v); }

// A power of a float32 base, as Keras has it.
float power(double base, int64_t t) { return std::pow(static_cast<float>(base), static_cast<float>(t)); }

}  // namespace

void sgd_all(const Sgd &o, float *w, const float *g, float *m, int64_t n) {
  const V lr = number(o.lr), mu = number(o.momentum);
  if (!m || o.momentum == 0)
    return update(o, w, g, n, [&](int64_t, auto, V x, V d) HWY_ATTR { return hn::NegMulAdd(lr, d, x); });
  const bool nesterov = o.nesterov;
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V step = hn::Mul(lr, d), velocity = hn::Sub(hn::Mul(mu, io.get(m + i)), step);
    io.put(velocity, m + i);
    return hn::Add(x, nesterov ? hn::Sub(hn::Mul(mu, velocity), step) : velocity);
  });
}

void adam_all(const Adam &o, float *w, const float *g, float *m, float *v, float *vhat, int64_t n) {
  const float alpha = static_cast<float>(o.lr) * std::sqrt(1 - power(o.beta2, o.t)) / (1 - power(o.beta1, o.t));
  const V a = set(alpha), r1 = number(1 - o.beta1), r2 = number(1 - o.beta2), eps = number(o.epsilon);
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V first = approach(io, m + i, d, r1);
    V second = approach(io, v + i, square(d), r2);
    if (vhat) {
      second = max_nan(io.get(vhat + i), second);
      io.put(second, vhat + i);
    }
    return hn::Sub(x, hn::Div(hn::Mul(first, a), hn::Add(hn::Sqrt(second), eps)));
  });
}

float nadam_all(const Adam &o, float u, float *w, const float *g, float *m, float *v, int64_t n) {
  const float beta = static_cast<float>(o.beta1);
  const float now = beta * (1 - 0.5f * power(0.96, o.t)), next = beta * (1 - 0.5f * power(0.96, o.t + 1));
  const float product = u * now;
  const V fm = set(next / (1 - product * next)), fg = set((1 - now) / (1 - product)), fv = set(1 - power(o.beta2, o.t));
  const V lr = number(o.lr), r1 = number(1 - o.beta1), r2 = number(1 - o.beta2), eps = number(o.epsilon);
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V first = approach(io, m + i, d, r1), second = approach(io, v + i, square(d), r2);
    const V ahead = hn::MulAdd(fm, first, hn::Mul(fg, d));
    return hn::Sub(x, hn::Div(hn::Mul(ahead, lr), hn::Add(hn::Sqrt(hn::Div(second, fv)), eps)));
  });
  return product;
}

void adamax_all(const Adam &o, float *w, const float *g, float *m, float *u, int64_t n) {
  const V lr = number(o.lr), r1 = number(1 - o.beta1), b2 = number(o.beta2), eps = number(o.epsilon);
  const V correction = set(1 - power(o.beta1, o.t));
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V first = approach(io, m + i, d, r1);
    const V largest = max_nan(hn::Mul(b2, io.get(u + i)), hn::Abs(d));
    io.put(largest, u + i);
    return hn::Sub(x, hn::Div(hn::Mul(lr, first), hn::Mul(correction, hn::Add(largest, eps))));
  });
}

void lion_all(const Adam &o, float *w, const float *g, float *m, int64_t n) {
  const V lr = number(o.lr), b1 = number(o.beta1), b2 = number(o.beta2), r1 = number(1 - o.beta1),
          r2 = number(1 - o.beta2);
  const V zero = hn::Zero(D());
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V old = io.get(m + i), c = hn::MulAdd(old, b1, hn::Mul(d, r1));
    io.put(hn::MulAdd(old, b2, hn::Mul(d, r2)), m + i);
    const V down = hn::IfThenElse(hn::Lt(c, zero), hn::Neg(lr), hn::Mul(c, zero));
    return hn::Sub(x, hn::IfThenElse(hn::Gt(c, zero), lr, down));
  });
}

void rmsprop_all(const RmsProp &o, float *w, const float *g, float *v, float *average, float *m, int64_t n) {
  const V lr = number(o.lr), rho = number(o.rho), rest = number(1 - o.rho), eps = number(o.epsilon);
  const V mu = number(o.momentum);
  if (o.momentum == 0) m = nullptr;
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    V under = blend(io, v + i, rho, square(d), rest);
    if (average) under = hn::Sub(under, square(blend(io, average + i, rho, d, rest)));
    V step = hn::Div(hn::Mul(lr, d), hn::Sqrt(hn::Add(under, eps)));
    if (m) step = blend(io, m + i, mu, step, set(1));
    return hn::Sub(x, step);
  });
}

void adagrad_all(const RmsProp &o, float *w, const float *g, float *accumulator, int64_t n) {
  const V lr = number(o.lr), eps = number(o.epsilon);
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V a = hn::Add(io.get(accumulator + i), square(d));
    io.put(a, accumulator + i);
    return hn::Sub(x, hn::Div(hn::Mul(lr, d), hn::Sqrt(hn::Add(a, eps))));
  });
}

void adadelta_all(const RmsProp &o, float *w, const float *g, float *accumulator, float *delta, int64_t n) {
  const V lr = number(o.lr), rho = number(o.rho), rest = number(1 - o.rho), eps = number(o.epsilon);
  update(o, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V a = blend(io, accumulator + i, rho, square(d), rest);
    const V before = hn::Sqrt(hn::Add(io.get(delta + i), eps));
    const V step = hn::Div(hn::Mul(before, d), hn::Sqrt(hn::Add(a, eps)));
    blend(io, delta + i, rho, square(step), rest);
    return hn::Sub(x, hn::Mul(lr, step));
  });
}

void scale_all(float factor, const float *x, float *y, int64_t n) {
  const V f = set(factor);
  map(x, y, n, [=](V v) HWY_ATTR { return hn::Mul(v, f); });
}
void clip_all(float limit, const float *x, float *y, int64_t n) {
  const V high = set(limit), low = set(-limit);
  map(x, y, n, [=](V v) HWY_ATTR { return min_nan(max_nan(v, low), high); });
}
void average_all(float momentum, const float *w, float *average, int64_t n) {
  const V a = set(momentum), b = set(static_cast<float>(1 - static_cast<double>(momentum)));
  map(w, average, average, n, [=](V v, V old) HWY_ATTR { return hn::MulAdd(a, old, hn::Mul(b, v)); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(sgd_all);
HWY_EXPORT(adam_all);
HWY_EXPORT(nadam_all);
HWY_EXPORT(adamax_all);
HWY_EXPORT(lion_all);
HWY_EXPORT(rmsprop_all);
HWY_EXPORT(adagrad_all);
HWY_EXPORT(adadelta_all);
HWY_EXPORT(scale_all);
HWY_EXPORT(clip_all);
HWY_EXPORT(average_all);

void sgd(const Sgd &o, float *w, const float *g, float *m, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(sgd_all)(o, w, g, m, n);
}
void adam(const Adam &o, float *w, const float *g, float *m, float *v, float *vhat, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(adam_all)(o, w, g, m, v, vhat, n);
}
float nadam(const Adam &o, float u, float *w, const float *g, float *m, float *v, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(nadam_all)(o, u, w, g, m, v, n);
}
void adamax(const Adam &o, float *w, const float *g, float *m, float *u, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(adamax_all)(o, w, g, m, u, n);
}
void lion(const Adam &o, float *w, const float *g, float *m, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(lion_all)(o, w, g, m, n);
}
void rmsprop(const RmsProp &o, float *w, const float *g, float *v, float *average, float *m, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(rmsprop_all)(o, w, g, v, average, m, n);
}
void adagrad(const RmsProp &o, float *w, const float *g, float *accumulator, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(adagrad_all)(o, w, g, accumulator, n);
}
void adadelta(const RmsProp &o, float *w, const float *g, float *accumulator, float *delta, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(adadelta_all)(o, w, g, accumulator, delta, n);
}
void scale(const float *factor, const float *x, float *y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(scale_all)(*factor, x, y, n);
}
void clip_by_value(float limit, const float *x, float *y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(clip_all)(limit, x, y, n);
}
void moving_average(float momentum, const float *w, float *average, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(average_all)(momentum, w, average, n);
}

}  // namespace dl4::kernels
#endif
