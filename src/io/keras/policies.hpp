// Keras's dtype policies that quantize: what they and the "quantization_config" beside them say of a layer, and back.
#pragma once

#include <string>

#include "base/json.hpp"

namespace dl4::io::keras {

// The type of floats that a layer's "dtype" makes it compute in, or "".
std::string floats_of(const Json &config);

// A layer's config with "quantization" in place of a policy that quantizes. Refuses, by the layer's name, a layer that
// Keras does not quantize, and float8.
Json with_quantization(const std::string &class_name, Json config);
// The other way. name: of the layer.
void to_policy(const std::string &name, const std::string &class_name, Json &config);

}  // namespace dl4::io::keras
