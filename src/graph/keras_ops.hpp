// Keras's operations, keras.ops.add() and x[:, 0] for example, as layers.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/architecture.hpp"

namespace dl4::graph {

// {"class_name": "__keras_tensor__", ...}, and what it refers to.
bool is_tensor(const Json &j);
Architecture::Ref tensor(const Json &j);
Shape shape_of(const Json &j);

// An operation that is one layer here, whose config says the same.
struct KerasOperation {
  enum class Form { one, two, pair };  // of a tensor, of two, or of two of which one may be a number
  std::string_view name, kind;         // its class there, the layer's here
  Form form = Form::one;
  std::string_view module = "keras.src.ops.numpy";
};
// By Keras's class, or by our kind; null: there is none.
const KerasOperation *keras_operation(std::string_view name);
const KerasOperation *keras_operation_of(std::string_view kind);

// Is it an operation, not a layer?
bool is_operation(const Json &layer);
// Whose outputs carry no mask.
struct Maskless {
  bool all;
  std::set<std::string> layers{};
  bool has(const std::string &layer) const { return all || layers.contains(layer); }
};
// Adds the layers that compute it, the last one under its name, which is maskless then: operations drop masks, but for
// ConvertToTensor, which gives what it is given. Refuses with UNSUPPORTED, by its class, what our layers can't say.
void add_operation(const Json &layer, Maskless &maskless, std::vector<Architecture::Layer> &to);

}  // namespace dl4::graph
