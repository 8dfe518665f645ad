// Elementwise ops, as passes match them.
#pragma once

#include "ops/functions.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

// A unary function with its parameters.
struct Function {
  Unary f = {};
  std::array<float, 3> param{};

  // Only those that the function has.
  std::span<const float> params() const { return std::span(param).first(static_cast<size_t>(info(f).params)); }
  void fields(auto &v) const { v("", f), v("", params()); }
};
std::string to_string(const Function &f);  // "elu(0.5)"
// The derivative of the function's slope, as unary_grad computes it from the input or output v, with respect to v; none
// where it is 0 everywhere.
Id curvature(Emit &e, const Function &f, Id v);

// What a product or convolution also applies to its result, in cache.
struct Fused {
  bool bias = false;  // adds the last source, a row, along the last axis
  std::optional<Function> activation = {};

  void fields(auto &f) const { f("bias", bias), f("", activation); }
};

struct UnaryOp final : OpOf<UnaryOp, "unary"> {
  Function function;

  explicit UnaryOp(Function function) : function(function) {}
  void fields(auto &f) const { f("", function); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  int overwrites(int) const override { return 0; }
};

struct BinaryOp final : OpOf<BinaryOp, "binary"> {
  Binary f;
  int into;  // the source whose memory may be reused: not broadcast, as far as is known
  std::optional<Function> activation;

  BinaryOp(Binary f, int into, std::optional<Function> activation = {}) : f(f), into(into), activation(activation) {}
  void fields(auto &v) const { v("", f), v("into", into), v("", activation); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  int overwrites(int) const override { return into; }
};

}  // namespace dl4::ops
