// Keras's operations, keras.ops.add() and x[:, 0] for example, as layers.
#pragma once

#include <vector>

#include "graph/architecture.hpp"

namespace dl4::graph {

// {"class_name": "__keras_tensor__", ...}, and what it refers to.
bool is_tensor(const Json &j);
Architecture::Ref tensor(const Json &j);
Shape shape_of(const Json &j);

// Is it an operation, not a layer?
bool is_operation(const Json &layer);
// Adds the layers that compute it, the last one under its name. masks: values may carry masks, which operations drop.
// Refuses with UNSUPPORTED, by its class, what our layers can't say.
void add_operation(const Json &layer, bool masks, std::vector<Architecture::Layer> &to);

}  // namespace dl4::graph
