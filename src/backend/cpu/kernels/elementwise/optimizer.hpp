// Optimizer updates in one pass over part of a flat block, by Keras's formulas. Decay is decoupled: first w -= w *
// weight_decay * lr.
#pragma once

#include <cstdint>

#include "ops/rules.hpp"

namespace dl4::kernels {

// An update's inputs besides its block.
struct Now {
  float lr;
  int64_t t = 1;     // step number, from 1
  float number = 0;  // Nadam: running product of mu
};

#define DL4_DECLARE(Rule) \
  using ops::Rule;        \
  void update(const Rule &o, const Now &now, float *w, const float *g, float *const *slots, int64_t n) noexcept;
DL4_UPDATES(DL4_DECLARE)
#undef DL4_DECLARE

}  // namespace dl4::kernels
