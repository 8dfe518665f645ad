// Copies of strings.
#include "base/strings.hpp"

#include <cstring>

#include "base/error.hpp"

namespace dl4 {
namespace {

// view(i): element i.
template <class F>
Tensor copied(const Shape &shape, int64_t limit, F view) {
  const int64_t n = shape.elements(), places = checked_mul(n, sizeof(String));
  int64_t bytes = places;
  for (int64_t i = 0; i < n; ++i) bytes = checked_add(bytes, static_cast<int64_t>(view(i).size()));
  if (bytes > limit)
    fail(Code::out_of_memory, "a tensor of ", n, " strings takes ", bytes, " bytes, the memory limit is ", limit);
  Tensor t{DType::string, shape, allocate(bytes)};
  char *to = t.as<char>() + places;
  for (int64_t i = 0; i < n; ++i) {
    const std::string_view s = view(i);
    if (!s.empty()) std::memcpy(to, s.data(), s.size());
    t.as<String>()[i] = {to, static_cast<int64_t>(s.size())};
    to += s.size();
  }
  return t;
}

}  // namespace

int64_t string_bytes(const Tensor &t) {
  int64_t bytes = 0;
  for (const String &s : strings(t)) bytes = checked_add(bytes, s.size);
  return bytes;
}

Tensor copy_of(const Tensor &t, int64_t limit) {
  return copied(t.shape, limit, [&](int64_t i) { return t.as<String>()[i].view(); });
}

Tensor copy_of(const Shape &shape, std::span<const std::string_view> elements, int64_t limit) {
  return copied(shape, limit, [&](int64_t i) { return elements[static_cast<size_t>(i)]; });
}

}  // namespace dl4
