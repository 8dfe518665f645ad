// Optimizer updates, by instruction set.
#include "kernels/elementwise/optimizer.hpp"

#include <cmath>

#include "kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/optimizer.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE V number(double v) { return set(static_cast<float>(v)); }

// Every update: decay w, step(i, io, w, g) gives the new w.
template <class O, class Step>
HWY_INLINE void update(const O &o, float lr, float *w, const float *g, int64_t n, const Step &step) {
  const V decay = number(o.weight_decay), rate = set(lr);
  const bool decays = o.weight_decay != 0;
  each(n, [&](int64_t i, auto io) HWY_ATTR {
    V weight = io.get(w + i);
    if (decays) weight = hn::Sub(weight, hn::Mul(hn::Mul(weight, decay), rate));
    io.put(step(i, io, weight, io.get(g + i)), w + i);
  });
}

// p[i] += (v - p[i]) * rate, and its new value.
template <class Io>
HWY_INLINE V approach(Io io, float *p, V v, V rate) {
  const V old = io.get(p), now = hn::MulAdd(hn::Sub(v, old), rate, old);
  io.put(now, p);
  return now;
}

HWY_INLINE V square(V v) { return hn::Mul(v, v); }

// A power of a float32 base, as Keras has it.
float power(double base, int64_t t) { return std::pow(static_cast<float>(base), static_cast<float>(t)); }

}  // namespace

void sgd_all(const Sgd &o, float lr, float *w, const float *g, float *m, int64_t n) {
  const V rate = set(lr), mu = number(o.momentum);
  if (!m || o.momentum == 0)
    return update(o, lr, w, g, n, [&](int64_t, auto, V x, V d) HWY_ATTR { return hn::NegMulAdd(rate, d, x); });
  const bool nesterov = o.nesterov;
  update(o, lr, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V step = hn::Mul(rate, d), velocity = hn::Sub(hn::Mul(mu, io.get(m + i)), step);
    io.put(velocity, m + i);
    return hn::Add(x, nesterov ? hn::Sub(hn::Mul(mu, velocity), step) : velocity);
  });
}

void adam_all(const Adam &o, float lr, int64_t t, float *w, const float *g, float *m, float *v, float *vhat,
              int64_t n) {
  const float alpha = lr * std::sqrt(1 - power(o.beta_2, t)) / (1 - power(o.beta_1, t));
  const V a = set(alpha), r1 = number(1 - o.beta_1), r2 = number(1 - o.beta_2), eps = number(o.epsilon);
  update(o, lr, w, g, n, [&](int64_t i, auto io, V x, V d) HWY_ATTR {
    const V first = approach(io, m + i, d, r1);
    V second = approach(io, v + i, square(d), r2);
    if (vhat) {
      second = max_nan(io.get(vhat + i), second);
      io.put(second, vhat + i);
    }
    return hn::Sub(x, hn::Div(hn::Mul(first, a), hn::Add(hn::Sqrt(second), eps)));
  });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(sgd_all);
HWY_EXPORT(adam_all);

void sgd(const Sgd &o, float lr, float *w, const float *g, float *m, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(sgd_all)(o, lr, w, g, m, n);
}
void adam(const Adam &o, float lr, int64_t t, float *w, const float *g, float *m, float *v, float *vhat,
          int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(adam_all)(o, lr, t, w, g, m, v, vhat, n);
}

}  // namespace dl4::kernels
#endif
