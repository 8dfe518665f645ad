// Functions of keras.ops that work element by element, as layers: one row each, which the readers and writers of
// Keras's and ONNX's files and the bindings use too.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "kinds/kind.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

struct Function : Entry {
  enum class Takes { floats, flags, any };
  Takes takes;
  // The op that is the whole of it, if one is.
  std::optional<ops::Unary> unary{};
  std::optional<ops::Binary> binary{};
  // Else how it is computed.
  ops::Id (*of_one)(ops::Emit &, ops::Id) = nullptr;
  ops::Id (*of_two)(ops::Emit &, ops::Id, ops::Id) = nullptr;

  int operands() const { return binary || of_two ? 2 : 1; }
};

// Those of one operand, then those of two.
std::span<const Function> functions();
// By the name of its layer; null: it is no such function.
const Function *function(std::string_view name);
// ONNX's op for one of ours, of a function or an activation; empty: there is none.
std::string_view onnx_op(ops::Unary f);
std::string_view onnx_op(ops::Binary f);

}  // namespace dl4::kinds
