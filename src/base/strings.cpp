// Copies of strings.
#include "base/strings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <locale>
#include <sstream>

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

template <class T>
bool read_decimal(std::string_view text, T &v) {
#if defined(__cpp_lib_to_chars)
  T read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(read)) return false;
#else  // C++ libraries without from_chars for floating point
  std::string_view rest = text;
  const auto skip = [&](std::string_view any) {
    const bool found = !rest.empty() && any.find(rest[0]) != any.npos;
    rest.remove_prefix(found);
    return found;
  };
  const auto digits = [&] {
    const size_t n = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const bool zero = rest.substr(0, n).find_first_not_of('0') >= n;
    rest.remove_prefix(n);
    return std::pair{n, zero};
  };
  skip("-");
  const auto [whole, no_whole] = digits();
  const auto [fraction, no_fraction] = skip(".") ? digits() : std::pair{size_t(0), true};
  if (whole + fraction == 0) return false;
  if (skip("eE") && (skip("+-"), digits().first == 0)) return false;
  if (!rest.empty()) return false;
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  T read = 0;
  stream >> read;  // fails for subnormal numbers too
  if ((stream.fail() && std::abs(read) >= std::numeric_limits<T>::max()) || (read == 0 && !(no_whole && no_fraction)))
    return false;
#endif
  v = read;
  return true;
}

template bool read_decimal(std::string_view, float &);
template bool read_decimal(std::string_view, double &);

}  // namespace dl4
