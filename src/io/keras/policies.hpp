// Keras's quantizing dtype policies with "quantization_config", converted from and to a layer's attribute.
#pragma once

#include <string>

#include "base/json.hpp"

namespace dl4::io::keras {

// The float type in which a layer's "dtype" makes it compute, or "".
std::string floats_of(const Json &config);

// A layer's config with "quantization" instead of a quantizing policy. Refuses, naming the layer, layers that Keras
// does not quantize, and float8.
Json with_quantization(const std::string &class_name, Json config);
// The reverse. name: of the layer.
void to_policy(const std::string &name, const std::string &class_name, Json &config);

}  // namespace dl4::io::keras
