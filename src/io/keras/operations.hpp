// Keras's operations, such as keras.ops.add() and x[:, 0], as layers.
#pragma once

#include "graph/architecture.hpp"
#include "kinds/kind.hpp"

namespace dl4::io::keras {

using graph::Architecture;
using graph::Graph;
using graph::Node;

// Whether j is an object of this class, such as {"class_name": "__slice__", ...}.
bool is_named(const Json &j, std::string_view class_name);
// {"class_name": "__keras_tensor__", ...}, and what it refers to.
bool is_tensor(const Json &j);
Architecture::Ref tensor(const Json &j);
Shape shape_of(const Json &j);
// Nested lists of numbers as a tensor, of floats if any is one; none: not numbers.
std::optional<Tensor> numbers_of(const Json &j, std::optional<DType> dtype = {});

// An operation that is a single layer here with the same config.
struct KerasOperation {
  // Unary; binary; binary where one may be a number; unary that converts to float32; reduction over axes.
  enum class Form { one, two, pair, elementwise, reduction };
  std::string name;          // its class
  const kinds::Entry *kind;  // this library's layer
  Form form;
  std::string module;  // empty: not in Keras 3's files
};
// By Keras's class or alias, or by this library's kind; null: none.
const KerasOperation *keras_operation(std::string_view name);
const KerasOperation *keras_operation_of(std::string_view kind);

// Whether it is an operation, not a layer.
bool is_operation(const Json &layer);
// Refuses unknown operations with UNSUPPORTED.
void need_operation(const Architecture::Layer &layer);
// Adds the layers that compute a call of an operation, the last one under its name, and returns its outputs. They carry
// no mask, except that of ConvertToTensor, which forwards its input. Refuses with UNSUPPORTED, naming the class, what
// layers can't express.
std::vector<Node> add_operation(Graph &g, const Architecture::Layer &layer, int64_t call, const Json &arguments,
                                const std::vector<Node> &in);

}  // namespace dl4::io::keras
