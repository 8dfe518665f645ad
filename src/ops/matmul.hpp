// The matrix product, as passes match it.
#pragma once

#include "ops/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

struct MatMulOp final : OpOf<MatMulOp, "matmul"> {
  MatMul how;
  Fused fused;

  MatMulOp(MatMul how, const Fused &fused) : how(how), fused(fused) {}
  void fields(auto &f) const { how.fields(f), fused.fields(f); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
};

}  // namespace dl4::ops
