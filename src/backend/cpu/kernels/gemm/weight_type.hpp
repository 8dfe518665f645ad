// In which type a session keeps constant weights.
#pragma once

#include <cstdint>
#include <string_view>

namespace dl4::kernels {

enum class WeightType : int32_t { float32, bfloat16, int8, int4 };
constexpr std::string_view weight_type_names[] = {"float32", "bfloat16", "int8", "int4"};

}  // namespace dl4::kernels
