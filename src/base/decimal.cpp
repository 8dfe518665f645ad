#include "base/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <utility>

namespace dl4 {

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
