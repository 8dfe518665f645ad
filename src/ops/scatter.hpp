// scatter_add, as passes match it.
#pragma once

#include "ops/op.hpp"

namespace dl4::ops {

// Zeros in the shape of the table (source 2), plus every row of source 0 added to the row of its id (source 1).
struct ScatterAddOp final : OpOf<ScatterAddOp, "scatter_add"> {
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  bool reads(int src) const override { return src < 2; }
};

}  // namespace dl4::ops
