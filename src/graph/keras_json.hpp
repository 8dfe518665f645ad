// Keras's JSON of a nested model.
#pragma once

#include "graph/architecture.hpp"

namespace dl4::graph {

// Of the config of a Functional or, without "input_layers", of a Sequential.
Architecture keras_architecture(const Json &layers, const Json &inputs, const Json &outputs, const Json &input_shape);

}  // namespace dl4::graph
