#pragma once

#include <initializer_list>
#include <span>

namespace dl4 {

// A read-only list argument: a braced list, a vector or a span. It owns nothing, so the call site has nothing to free.
template <class T>
struct ArrayRef : std::span<const T> {
  using std::span<const T>::span;
  ArrayRef(std::initializer_list<T> list) : std::span<const T>(std::data(list), list.size()) {}
};

}  // namespace dl4
