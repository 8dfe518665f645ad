// Elementwise functions of keras.ops as layers, one row each. The readers and writers of Keras's and ONNX's files and
// the bindings use the same rows.
#pragma once

#include "kinds/kind.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

struct Function : Entry {
  enum class Takes { floats, numbers, flags, any };  // numbers: floats, int32 and int64
  Takes takes;
  // The op that implements it, if it is one op.
  std::optional<ops::Unary> unary{};
  std::optional<ops::Binary> binary{};
  // Otherwise, its composition.
  ops::Id (*of_one)(ops::Emit &, ops::Id) = nullptr;
  ops::Id (*of_two)(ops::Emit &, ops::Id, ops::Id) = nullptr;

  int operands() const { return binary || of_two ? 2 : 1; }
};

// Unary functions, then binary ones.
std::span<const Function> functions();
// By its layer's name; null: not such a function.
const Function *function(std::string_view name);
// ONNX's op for a function or an activation; empty: none.
std::string_view onnx_op(ops::Unary f);
std::string_view onnx_op(ops::Binary f);

}  // namespace dl4::kinds
