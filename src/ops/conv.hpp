// The convolution, as passes match it, and what it has in common with its gradients: sizes and paddings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/windows.hpp"

namespace dl4::ops {

struct ConvOp final : OpOf<ConvOp> {
  Conv how;
  Fused fused;
  std::vector<int64_t> pads;  // zeros that stand around x, before and after each spatial axis; only passes write them

  ConvOp(const Conv &how, const Fused &fused, std::vector<int64_t> pads = {})
      : how(how), fused(fused), pads(std::move(pads)) {}
  void fields(auto &f) const { how.fields(f), f("pads", pads), fused.fields(f); }
  int64_t before(int axis) const { return pads.empty() ? 0 : pads[static_cast<size_t>(2 * axis)]; }
  int64_t after(int axis) const { return pads.empty() ? 0 : pads[static_cast<size_t>(2 * axis + 1)]; }
  std::string_view name() const override { return "conv"; }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
};

// Refuses what no convolution can have.
void check(const char *op, const Conv &how);
// The windows along spatial axis `axis` of `n` places, counted from 0.
Windows conv_windows(const char *op, const Conv &how, int axis, int64_t n, int64_t taps);
// The shape of the result. Refuses what does not fit.
Shape conv_shape(const char *op, const Conv &how, const Shape &x, const Shape &weights);

// The gradients by x and by the weights (and bias, or none).
Id conv_data(Emit &e, Id dy, Id weights, Id x, const Conv &how);
struct ConvWeights {
  Id weights, bias;
};
ConvWeights conv_weights(Emit &e, Id x, Id dy, Id weights, bool bias, const Conv &how);

}  // namespace dl4::ops
