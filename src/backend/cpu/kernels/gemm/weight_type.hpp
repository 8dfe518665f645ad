// What float32 is given up for: of constant weights of a session, and of large products.
#pragma once

#include <cstdint>
#include <string_view>

namespace dl4::kernels {

enum class WeightType : int32_t { float32, bfloat16, int8, int4 };
constexpr std::string_view weight_type_names[] = {"float32", "bfloat16", "int8", "int4"};

// float32x3: of the parts that numbers are taken into where products go by tiles, three products instead of six.
enum class Math : int32_t { float32, float32x3 };

}  // namespace dl4::kernels
