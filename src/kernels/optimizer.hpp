// Optimizer updates in one pass over part of a flat block. Keras's formulas; decay is decoupled: w -= w * decay * lr
// first.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// Numbers known at the step, in double as 1 - beta must not be rounded twice. g is multiplied by grad_scale first
// (clipping by norm).
struct Sgd {
  double lr = 0.01, momentum = 0, decay = 0, grad_scale = 1;
  bool nesterov = false;
};
// m: velocity, nullptr where momentum is 0.
void sgd(const Sgd &o, float *w, const float *g, float *m, int64_t n) noexcept;

struct Adam {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7, decay = 0, grad_scale = 1;
  int64_t t = 1;  // counts from 1
};
// vhat: nullptr without amsgrad.
void adam(const Adam &o, float *w, const float *g, float *m, float *v, float *vhat, int64_t n) noexcept;
// The same with Nesterov's look-ahead; u is the product of the mu before this step, the new one is returned.
float nadam(const Adam &o, float u, float *w, const float *g, float *m, float *v, int64_t n) noexcept;
void adamax(const Adam &o, float *w, const float *g, float *m, float *u, int64_t n) noexcept;
void lion(const Adam &o, float *w, const float *g, float *m, int64_t n) noexcept;

struct RmsProp {
  double lr = 1e-3, rho = 0.9, momentum = 0, epsilon = 1e-7, decay = 0, grad_scale = 1;
};
// average: of g, nullptr unless centered; m: nullptr where momentum is 0.
void rmsprop(const RmsProp &o, float *w, const float *g, float *v, float *average, float *m, int64_t n) noexcept;
void adagrad(const RmsProp &o, float *w, const float *g, float *accumulator, int64_t n) noexcept;
void adadelta(const RmsProp &o, float *w, const float *g, float *accumulator, float *delta, int64_t n) noexcept;

// y = x * factor[0], the factor read when it runs. y may be x.
void scale(const float *factor, const float *x, float *y, int64_t n) noexcept;
// min(max(x, -limit), limit); NaN stays.
void clip_by_value(float limit, const float *x, float *y, int64_t n) noexcept;
// average = momentum * average + (1 - momentum) * w.
void moving_average(float momentum, const float *w, float *average, int64_t n) noexcept;

}  // namespace dl4::kernels
