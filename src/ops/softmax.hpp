// softmax and log_softmax, as losses match them.
#pragma once

#include "ops/op.hpp"

namespace dl4::ops {

struct SoftmaxOp final : OpOf<SoftmaxOp, "softmax"> {
  bool log;
  int axis;

  SoftmaxOp(bool log, int axis) : log(log), axis(axis) {}
  void fields(auto &f) const { f("log", log), f("axis", axis); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  int overwrites(int) const override { return 0; }
};

}  // namespace dl4::ops
