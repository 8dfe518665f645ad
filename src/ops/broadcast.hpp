// Broadcasts to the shape of another value, and their gradients, as passes match them.
#pragma once

#include "ops/op.hpp"

namespace dl4::ops {

// Both read source 0 and take the shape of source 1; if it is the same they change nothing.
struct BroadcastOp final : OpOf<BroadcastOp, "broadcast_like"> {
  bool divided;  // divides each element by its number of copies

  explicit BroadcastOp(bool divided) : divided(divided) {}
  void fields(auto &f) const { f("divided", divided); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  bool reads(int src) const override { return src == 0; }
  bool takes_strings() const override { return !divided; }
  int overwrites(int) const override { return 0; }
};

struct SumLikeOp final : OpOf<SumLikeOp, "sum_like"> {
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  bool reads(int src) const override { return src == 0; }
  int overwrites(int) const override { return 0; }
};

}  // namespace dl4::ops
