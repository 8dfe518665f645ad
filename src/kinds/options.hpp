// The options of a call, listed as the registry lists attributes.
#pragma once

#include "kinds/field.hpp"

namespace dl4::kinds {

Json describe(const FieldInfo &f);

// Of every field of T: [{"name", "type", "required", "default", "min", "max", "enum", "doc"}, ...].
template <class T>
Json describe_options() {
  Json list = Json::array();
  std::apply([&](const auto &...f) { (list.push_back(describe(f.info)), ...); }, T::fields());
  return list;
}

}  // namespace dl4::kinds
