// JSON values that keep the order of their keys.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace dl4 {
using Json = nlohmann::ordered_json;

// An integer that get<int64_t>() does not bend into another one.
template <class J>
bool is_int64(const J &j) {
  return j.is_number_integer() && !(j.is_number_unsigned() && j.template get<uint64_t>() > INT64_MAX);
}
}  // namespace dl4
