// Optimizer updates in one pass over part of a flat block. Keras's formulas; decay is decoupled: w -= w * decay * lr
// first.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// Numbers known at the step, in double as 1 - beta must not be rounded twice.
struct Sgd {
  double lr = 0.01, momentum = 0, decay = 0;
  bool nesterov = false;
};
// m: velocity, nullptr where momentum is 0.
void sgd(const Sgd &o, float *w, const float *g, float *m, int64_t n) noexcept;

struct Adam {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7, decay = 0;
  int64_t t = 1;  // counts from 1
};
// vhat: nullptr without amsgrad.
void adam(const Adam &o, float *w, const float *g, float *m, float *v, float *vhat, int64_t n) noexcept;

}  // namespace dl4::kernels
