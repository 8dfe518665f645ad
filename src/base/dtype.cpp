// Names, sizes and ABI numbers of element types.
#include "base/dtype.hpp"

#include <array>

#include "base/error.hpp"

namespace dl4 {
namespace {
constexpr std::array<std::pair<DType, std::string_view>, 7> names{{{DType::f32, "float32"},
                                                                   {DType::f64, "float64"},
                                                                   {DType::i32, "int32"},
                                                                   {DType::i64, "int64"},
                                                                   {DType::u8, "uint8"},
                                                                   {DType::boolean, "bool"},
                                                                   {DType::string, "string"}}};
}

std::string to_string(DType t) {
  for (auto [dtype, name] : names)
    if (dtype == t) return std::string(name);
  return "dtype " + std::to_string(static_cast<int32_t>(t));
}

DType dtype_from(std::string_view name) {
  std::vector<std::string> known;
  for (auto [dtype, word] : names) {
    if (word == name) return dtype;
    known.emplace_back(word);
  }
  throw Error(Code::invalid_argument, text("unknown dtype \"", name, '"')).suggest(std::string(name), known);
}

DType dtype_from(int32_t number) {
  for (auto [dtype, name] : names)
    if (static_cast<int32_t>(dtype) == number) return dtype;
  fail(Code::invalid_argument, "unknown dtype ", number, ", expected 1 (float32) to 6 (bool), or 9 (string)");
}

}  // namespace dl4
