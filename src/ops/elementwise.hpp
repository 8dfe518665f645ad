// Elementwise ops, as passes match them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/functions.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

// A function of the table with its parameters.
struct Function {
  Unary f = {};
  std::array<float, 3> param{};

  // Those that the function has.
  std::span<const float> params() const { return std::span(param).first(static_cast<size_t>(info(f).params)); }
  void fields(auto &v) const { v("", f), v("", params()); }
};
std::string to_string(const Function &f);  // "elu(0.5)"
// The slope of the function as unary_grad takes it, of an input or an output v, differentiated by v; none where that is
// 0 everywhere.
Id curvature(Emit &e, const Function &f, Id v);

// What a product or a convolution also does, to its result while that is in cache.
struct Fused {
  bool bias = false;  // adds a row, the last source, to the last axis
  std::optional<Function> activation = {};

  void fields(auto &f) const { f("bias", bias), f("", activation); }
};

struct UnaryOp final : OpOf<UnaryOp> {
  Function function;

  explicit UnaryOp(Function function) : function(function) {}
  void fields(auto &f) const { f("", function); }
  std::string_view name() const override { return "unary"; }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  int overwrites(int) const override { return 0; }
};

struct BinaryOp final : OpOf<BinaryOp> {
  Binary f;
  int into;  // the source that is not broadcast, as far as can be told
  std::optional<Function> activation;

  BinaryOp(Binary f, int into, std::optional<Function> activation = {}) : f(f), into(into), activation(activation) {}
  void fields(auto &v) const { v("", f), v("into", into), v("", activation); }
  std::string_view name() const override { return "binary"; }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  int overwrites(int) const override { return into; }
};

}  // namespace dl4::ops
