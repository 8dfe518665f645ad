// Substitutes for float32: for a session's constant weights, and inside large products.
#pragma once

#include <cstdint>
#include <string_view>

namespace dl4::kernels {

enum class WeightType : int32_t { float32, bfloat16, int8, int4 };
constexpr std::string_view weight_type_names[] = {"float32", "bfloat16", "int8", "int4"};

// float32x3: products by bfloat16 parts use three part products instead of six.
enum class Math : int32_t { float32, float32x3 };

}  // namespace dl4::kernels
