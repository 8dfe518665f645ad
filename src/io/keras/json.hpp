// Keras's model JSON, read and written.
#pragma once

#include "graph/model.hpp"

namespace dl4::io::keras {

using graph::Architecture;

// Of a layer: `layer "dense": why`.
Error of_layer(Code code, const std::string &layer, const std::string &why);
// A serialized object of Keras's.
Json object(std::string_view module, const std::string &class_name, Json config);

// [layer, node, tensor], with more behind it.
inline bool is_history(const Json &j, size_t size = 3) {
  return j.is_array() && j.size() == size && j[0].is_string() && j[1].is_int64() && j[2].is_int64();
}
// Replaces each [layer, node, tensor] by the result of f.
template <class F>
Json each_history(const Json &j, F f) {
  if (is_history(j)) return f(j);
  if (!j.is_array() && !j.is_object()) return j;
  Json to = j.is_array() ? Json::array() : Json::object();
  for (const Json &item : j) to.push_back(each_history(item, f));
  for (const auto &[key, item] : j.items()) to[key] = each_history(item, f);
  return to;
}

inline bool is_any(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// From Keras 3's JSON of a Functional or Sequential, {"class_name", "config"}. Refuses user-defined classes with
// UNSUPPORTED.
Architecture architecture_of(const Json &model);

// The float type in which a layer's "dtype" makes it compute, or "".
std::string floats_of(const Json &config);
// A layer's config with "quantization" instead of a quantizing policy. Refuses, naming the layer, layers that Keras
// does not quantize, and float8.
Json with_quantization(const std::string &class_name, Json config);
// The reverse. name: of the layer.
void to_policy(const std::string &name, const std::string &class_name, Json &config);

// Float types other than float32 that the JSON of a model or its layers names as compute types.
std::vector<std::string> other_floats(const Json &model);

// Base of call indices of this output's layer in "output_layers": 1 for a model, whose first node is its own. As an
// input of other layers, its calls are counted from 0.
int64_t first_node(const Architecture &a, const Architecture::Ref &output);

// Converts a model's JSON, {"class_name", "config"}, to Keras 3's form. major: Keras version that wrote it. Refuses
// with UNSUPPORTED, naming the layer, features of Keras 1 without an equivalent.
Json modern(const Json &model, int major);
// Converts a layer of Keras 1, without inner layers, to Keras 2's form.
Json keras_2_layer(const Json &layer);

// Converts a TensorFlow function in a Keras 2 model, TFOpLambda or SlicingOpLambda, to an operation of Keras 3.
// as_tensor: converts [layer, node, tensor] to Keras 3's form, also inside lists.
Json of_tensorflow(const Json &layer, const std::function<Json(const Json &)> &as_tensor);

// Keras 3's JSON of a model, {"module", "class_name", "config", ...}. Refuses with UNSUPPORTED, naming the layer, what
// Keras has no layer or operation for.
Json json_of(const graph::Model &m);
// The same with '_' for slashes in layer names, which Keras does not allow.
Json without_slashes(const Json &model);

}  // namespace dl4::io::keras
