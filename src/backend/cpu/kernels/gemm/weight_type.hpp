// Types in place of float32: for the constant weights of a session, and within large products.
#pragma once

#include <cstdint>
#include <string_view>

namespace dl4::kernels {

enum class WeightType : int32_t { float32, bfloat16, int8, int4 };
constexpr std::string_view weight_type_names[] = {"float32", "bfloat16", "int8", "int4"};

// float32x3: where a product is a sum of products of bfloat16, three of them instead of six.
enum class Math : int32_t { float32, float32x3 };

}  // namespace dl4::kernels
