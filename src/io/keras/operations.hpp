// Keras's operations, keras.ops.add() and x[:, 0] for example, as layers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/architecture.hpp"
#include "kinds/kind.hpp"

namespace dl4::io::keras {

using graph::Architecture;
using graph::Graph;
using graph::Node;

// {"class_name": "__keras_tensor__", ...}, and what it refers to.
bool is_tensor(const Json &j);
Architecture::Ref tensor(const Json &j);
Shape shape_of(const Json &j);
// Lists of lists of numbers as a tensor, of floats if one of them is; none: they are something else.
std::optional<Tensor> numbers_of(const Json &j, std::optional<DType> dtype = {});

// An operation that is one layer here, whose config says the same.
struct KerasOperation {
  // Of a tensor; of two; of two of which one may be a number; of one that becomes float32 if it is none; along axes.
  enum class Form { one, two, pair, elementwise, reduction };
  std::string name;          // its class
  const kinds::Entry *kind;  // the layer's here
  Form form;
  std::string module;  // empty: it stands in no file of Keras 3
};
// By Keras's class or another of its names, or by our kind; null: there is none.
const KerasOperation *keras_operation(std::string_view name);
const KerasOperation *keras_operation_of(std::string_view kind);

// Is it an operation, not a layer?
bool is_operation(const Json &layer);
// Refuses with UNSUPPORTED one that is not known.
void need_operation(const Architecture::Layer &layer);
// Adds the layers that compute a call of an operation, the last one under its name; gives its outputs, which carry no
// mask but for that of ConvertToTensor, which gives what it is given. Refuses with UNSUPPORTED, by its class, what our
// layers can't say.
std::vector<Node> add_operation(Graph &g, const Architecture::Layer &layer, int64_t call, const Json &arguments,
                                const std::vector<Node> &in);

}  // namespace dl4::io::keras
