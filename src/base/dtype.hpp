// Element types. Their numbers are part of the ABI.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dl4 {

enum class DType : int32_t { f32 = 1, f64 = 2, i32 = 3, i64 = 4, u8 = 5, boolean = 6, string = 9 };

// Bytes per element; of strings, of a String (strings.hpp).
constexpr int64_t size_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::string:
      return 16;
  }
  return 0;
}

std::string to_string(DType t);           // Keras's name: "float32"
DType dtype_from(std::string_view name);  // refuses unknown names
DType dtype_from(int32_t number);         // refuses unknown numbers

}  // namespace dl4
