// The convolution, as passes match it, and the sizes and paddings that it shares with its gradients.
#pragma once

#include "ops/elementwise.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {

// Zeros around x along each spatial axis; empty: none.
struct Margins {
  std::vector<int64_t> before, after;
  void fields(auto &f) const { f("before", before), f("after", after); }
};

struct ConvOp final : OpOf<ConvOp, "conv"> {
  Conv how;
  Fused fused;
  Margins zeros;  // set only by passes

  ConvOp(const Conv &how, const Fused &fused, Margins zeros = {}) : how(how), fused(fused), zeros(std::move(zeros)) {}
  void fields(auto &f) const { how.fields(f), zeros.fields(f), fused.fields(f); }
  int64_t before(int axis) const { return zeros.before.empty() ? 0 : zeros.before[static_cast<size_t>(axis)]; }
  int64_t after(int axis) const { return zeros.after.empty() ? 0 : zeros.after[static_cast<size_t>(axis)]; }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
};

// Refuses invalid attributes.
void check(const char *op, const Conv &how);
// The windows along spatial axis `axis` (from 0) of size n.
Windows conv_windows(const char *op, const Conv &how, int axis, int64_t n, int64_t taps);
// The result's shape. Refuses operands that don't fit.
Shape conv_shape(const char *op, const Conv &how, const Shape &x, const Shape &weights);

// Gradients of x and of the weights (and bias, or none).
Id conv_data(Emit &e, Id dy, Id weights, Id x, const Conv &how);
struct ConvWeights {
  Id weights, bias;
};
ConvWeights conv_weights(Emit &e, Id x, Id dy, Id weights, bool bias, const Conv &how);

}  // namespace dl4::ops
