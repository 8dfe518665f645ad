// Zero padding along an axis, or cropping, as passes match it.
#pragma once

#include "ops/op.hpp"

namespace dl4::ops {

struct PadOp final : OpOf<PadOp, "pad"> {
  int axis;
  int64_t before, after;

  PadOp(int axis, int64_t before, int64_t after) : axis(axis), before(before), after(after) {}
  void fields(auto &f) const { f("axis", axis), f("before", before), f("after", after); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
};

}  // namespace dl4::ops
