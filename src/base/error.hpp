// The one exception of the core. The border turns it into a dl4_error.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
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
  Error(Code code, std::string message) : code(code), message(std::move(message)) {}

  // Adds a fact to the JSON detail, such as {"attribute", "unit"}; an earlier one of the same key stays.
  Error &with(std::string key, std::string value) {
    for (auto &fact : detail)
      if (fact.first == key) return *this;
    detail.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  // Puts in front of the message who it is about: `layer "fc"`.
  Error &in(const std::string &who) {
    message = who + ": " + message;
    return *this;
  }
  // Adds "did you mean" to message and detail when one of `words` is near to what was given.
  Error &suggest(const std::string &given, const std::vector<std::string> &words);
  const char *what() const noexcept override { return message.c_str(); }

  Code code;
  std::string message;
  std::vector<std::pair<std::string, std::string>> detail;
};

namespace detail {
inline void append(std::string &s, const std::string &v) { s += v; }
inline void append(std::string &s, std::string_view v) { s += v; }
inline void append(std::string &s, const char *v) { s += v; }
inline void append(std::string &s, char v) { s += v; }
template <class T>
void append(std::string &s, const T &v) {
  if constexpr (requires { to_string(v); })
    s += to_string(v);
  else
    s += std::to_string(v);
}
}  // namespace detail

// Strings and numbers, and anything with a to_string of its own, one after the other.
template <class... A>
std::string text(const A &...a) {
  std::string s;
  (detail::append(s, a), ...);
  return s;
}

template <class... A>
[[noreturn]] void fail(Code code, const A &...a) {
  throw Error(code, text(a...));
}

}  // namespace dl4
