// The one exception type of the core. The C API converts it to a dl4_error.
#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dl4 {

// Numbers are part of the ABI: only ever appended.
enum class Code : int32_t {
  ok = 0,
  internal = 1,
  out_of_memory = 2,
  invalid_argument = 3,
  unknown_kind = 4,
  not_found = 5,
  cancelled = 6,
  shape_mismatch = 7,
  unsupported = 8,
  io = 9,
  corrupt_file = 10,
  version = 11,
  busy = 12,
  callback_failed = 13,
  numeric = 14,
};

class Error : public std::exception {
 public:
  Error(Code code, std::string message);
  Error(const Error &);
  ~Error() override;

  // Adds a fact to the JSON detail, such as {"attribute", "unit"}. An existing key keeps its value.
  Error &with(std::string_view key, std::string_view value);
  // Prefixes the message with its subject: `layer "fc"`.
  Error &in(std::string_view who);
  // Adds "did you mean" to message and detail if one of `words` is close to `given`.
  Error &suggest(const std::string &given, const std::vector<std::string> &words);
  const char *what() const noexcept override { return message.c_str(); }

  Code code;
  std::string message;
  std::vector<std::pair<std::string, std::string>> detail;
};

namespace detail {
// A part of a message: a value and the function that appends it. Each of the hundreds of call sites then only stores
// two pointers.
struct Part {
  const void *value;
  void (*append)(std::string &, const void *);
};
void append_chars(std::string &s, const void *chars);  // NUL-terminated
void append_char(std::string &s, const void *c);
void append_view(std::string &s, const void *view);
void append_string(std::string &s, const void *string);
template <class T>
void append(std::string &s, const void *v) {
  const T &value = *static_cast<const T *>(v);
  if constexpr (requires { to_string(value); })
    s += to_string(value);
  else
    s += std::to_string(value);
}

template <class T>
Part part(const T &v) {
  if constexpr (std::is_convertible_v<T, const char *>)
    return {v, append_chars};
  else if constexpr (std::is_same_v<T, char>)
    return {&v, append_char};
  else if constexpr (std::is_same_v<T, std::string_view>)
    return {&v, append_view};
  else if constexpr (std::is_same_v<T, std::string>)
    return {&v, append_string};
  else
    return {&v, append<T>};
}
std::string text_of(std::initializer_list<Part> parts);
[[noreturn, gnu::cold]] void fail_with(Code code, std::initializer_list<Part> parts);
}  // namespace detail

// Concatenates strings, numbers and anything with a to_string().
template <class... A>
std::string text(const A &...a) {
  return detail::text_of({detail::part(a)...});
}

template <class... A>
[[noreturn]] void fail(Code code, const A &...a) {
  detail::fail_with(code, {detail::part(a)...});
}

}  // namespace dl4
