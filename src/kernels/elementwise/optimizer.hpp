// Optimizer updates in one pass over part of a flat block. Keras's formulas; decay is decoupled:
// w -= w * weight_decay * lr first.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// In double: 1 - beta is rounded to float, beta is not.
struct Sgd {
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
// m: velocity, nullptr where momentum is 0.
void sgd(const Sgd &o, float lr, float *w, const float *g, float *m, int64_t n) noexcept;

struct Adam {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, weight_decay = 0;
};
// t counts from 1; vhat: nullptr without amsgrad.
void adam(const Adam &o, float lr, int64_t t, float *w, const float *g, float *m, float *v, float *vhat,
          int64_t n) noexcept;

}  // namespace dl4::kernels
