// Derived from an op's list of attributes, `void fields(auto &f) const { f("axis", axis); f("log", log); }`.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <optional>
#include <ranges>

#include "base/error.hpp"

namespace dl4::ops {

// Enough digits to distinguish any two numbers of the type.
template <std::floating_point T>
std::string number(T v) {
  char s[32];
  return {s, std::to_chars(s, s + sizeof s, v).ptr};
}

template <class T>
std::string numbers(const T &list) {
  std::string s = "(";
  for (const auto &v : list) {
    if (s.size() > 1) s += ", ";
    if constexpr (std::floating_point<std::ranges::range_value_t<T>>)
      s += number(v);
    else
      s += text(v);
  }
  return s + ")";
}

struct Attribute {
  std::string_view name;  // "" if the value alone is clear
  std::string shown;      // "" for flags
  std::vector<int64_t> integers{};
  double real = 0;
};

// Lists attributes, except false flags, empty lists and absent values.
class Listing {
 public:
  template <class T>
  void operator()(std::string_view name, const T &v) {
    constexpr bool list = std::ranges::range<T>;
    if constexpr (std::same_as<T, bool>) {
      if (v) attributes.push_back({name, ""});
    } else if constexpr (requires { v.has_value(); }) {
      if (v) (*this)(name, *v);
    } else if constexpr (std::floating_point<T>) {
      attributes.push_back({name, number(v), {}, static_cast<double>(v)});
    } else if constexpr (std::integral<T>) {
      attributes.push_back({name, text(v), {static_cast<int64_t>(v)}, static_cast<double>(v)});
    } else if constexpr (list && requires { to_string(v); }) {
      attributes.push_back({name, text(v), {std::ranges::begin(v), std::ranges::end(v)}});
    } else if constexpr (list) {
      if (std::ranges::empty(v)) return;
      attributes.push_back({name, numbers(v)});
      if constexpr (std::integral<std::ranges::range_value_t<T>>)
        attributes.back().integers.assign(std::ranges::begin(v), std::ranges::end(v));
    } else {
      attributes.push_back({name, text(v)});
    }
  }

  std::vector<Attribute> attributes;
};

// "axis=1, log".
std::string to_string(const std::vector<Attribute> &list);

// The attributes bit by bit: 0 and -0 differ, NaN equals itself.
class Bits {
 public:
  template <class T>
  void operator()(std::string_view, const T &v) {
    if constexpr (requires { v.fields(*this); }) {
      v.fields(*this);
    } else if constexpr (requires { v.has_value(); }) {
      (*this)("", v.has_value());
      if (v) (*this)("", *v);
    } else if constexpr (std::ranges::range<T>) {
      (*this)("", static_cast<size_t>(std::ranges::distance(v)));
      for (const auto &x : v) (*this)("", x);
    } else {
      static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
      bits.append(reinterpret_cast<const char *>(&v), sizeof v);
    }
  }

  std::string bits;
};

}  // namespace dl4::ops
