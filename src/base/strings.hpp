// Strings as elements of tensors.
#pragma once

#include <span>
#include <string_view>

#include "base/tensor.hpp"

namespace dl4 {

// An element: bytes that stand elsewhere and are kept alive with the tensor's memory, UTF-8 by convention, NUL allowed.
// All zeros is the empty string.
struct String {
  const char *data;
  int64_t size;
  std::string_view view() const { return {data, static_cast<size_t>(size)}; }
};
static_assert(sizeof(String) == size_of(DType::string));

inline std::span<const String> strings(const Tensor &t) { return {t.as<String>(), static_cast<size_t>(t.elements())}; }
// The bytes of all elements together.
int64_t string_bytes(const Tensor &strings);
// With the elements' bytes behind them in one block. Refuses with OUT_OF_MEMORY what would pass `limit`.
Tensor copy_of(const Tensor &strings, int64_t limit);
Tensor copy_of(const Shape &shape, std::span<const std::string_view> elements, int64_t limit);

}  // namespace dl4
