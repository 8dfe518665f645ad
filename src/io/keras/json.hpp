// Keras's JSON of models: as an architecture, and of a model.
#pragma once

#include <functional>

#include "graph/architecture.hpp"
#include "graph/model.hpp"

namespace dl4::io::keras {

using graph::Architecture;

// Of a Functional or Sequential as Keras 3 writes it, {"class_name", "config"}. Refuses with UNSUPPORTED classes of the
// user's own.
Architecture architecture_of(const Json &model);

// The types of floats besides float32 that a model's JSON, or its layers', names to compute in.
std::vector<std::string> other_floats(const Json &model);

// What the calls of the layer of this output are counted from in "output_layers": 1 for a model, whose own node is its
// first. As an input of other layers its calls are counted from 0.
int64_t first_node(const Architecture &a, const Architecture::Ref &output);

// A model's JSON, {"class_name", "config"}, as Keras 3 would write it. major: the version of Keras that wrote it.
// Refuses with UNSUPPORTED, by the layer's name, what Keras 1 had that has no like.
Json modern(const Json &model, int major);
// A layer of Keras 1, without those inside it, in the words of Keras 2.
Json keras_2_layer(const Json &layer);

// A layer of Keras 2 that is a function of TensorFlow, TFOpLambda or SlicingOpLambda, as an operation of Keras 3.
// as_tensor: [layer, node, tensor] as Keras 3 writes it, also inside of lists.
Json of_tensorflow(const Json &layer, const std::function<Json(const Json &)> &as_tensor);

// A model as Keras 3's JSON, {"module", "class_name", "config", ...}. Refuses with UNSUPPORTED, by the layer's name,
// what Keras has no layer or operation for.
Json json_of(const graph::Model &m);
// That JSON with '_' for each slash in the names of layers, as Keras wants them.
Json without_slashes(const Json &model);

}  // namespace dl4::io::keras
