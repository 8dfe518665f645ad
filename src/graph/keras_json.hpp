// Keras's JSON of a nested model.
#pragma once

#include "graph/architecture.hpp"

namespace dl4::graph {

class Model;

// Of the config of a Functional or, without "input_layers", of a Sequential.
Architecture keras_architecture(const Json &layers, const Json &inputs, const Json &outputs, const Json &input_shape);

// A model's JSON, {"class_name", "config"}, as Keras 3 would write it: of Keras 2, or as it is.
Json modern(const Json &model);

// A model as Keras 3's JSON, {"module", "class_name", "config", ...}. Refuses with UNSUPPORTED, by the layer's name,
// what Keras has no layer or operation for.
Json keras_json(const Model &m);

}  // namespace dl4::graph
