// Which bytes are characters.
#include "base/utf8.hpp"

namespace dl4 {

size_t utf8_length(std::string_view s) noexcept {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  auto follows = [&](size_t n) {
    for (size_t i = 1; i <= n; ++i)
      if ((byte(i) & 0xC0) != 0x80) return false;
    return true;
  };
  if (s.empty()) return 0;
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xC2 && byte(0) <= 0xDF) return follows(1) ? 2 : 0;
  if (byte(0) >= 0xE0 && byte(0) <= 0xEF) {
    if (!follows(2) || (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F)) return 0;
    return 3;
  }
  if (byte(0) >= 0xF0 && byte(0) <= 0xF4) {
    if (!follows(3) || (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

char32_t utf8_character(std::string_view s) noexcept {
  const size_t n = utf8_length(s);
  char32_t c = static_cast<unsigned char>(s[0]) & (n == 1 ? 0x7F : 0xFF >> (n + 1));
  for (size_t i = 1; i < n; ++i) c = c << 6 | (static_cast<unsigned char>(s[i]) & 0x3F);
  return c;
}

void append_utf8(char32_t c, std::string &to) {
  const auto byte = [&](char32_t bits) { to += static_cast<char>(bits); };
  const auto rest = [&](int shift) { byte(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80)
    byte(c);
  else if (c < 0x800)
    byte(0xC0 | c >> 6), rest(0);
  else if (c < 0x10000)
    byte(0xE0 | c >> 12), rest(6), rest(0);
  else
    byte(0xF0 | c >> 18), rest(12), rest(6), rest(0);
}

std::string valid_utf8(std::string_view s) {
  std::string valid;
  valid.reserve(s.size());
  while (!s.empty()) {
    size_t n = utf8_length(s);
    valid += n ? s.substr(0, n) : "\xEF\xBF\xBD";
    s.remove_prefix(n ? n : 1);
  }
  return valid;
}

std::string printable(std::string_view s, bool lines) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(s.size());
  while (!s.empty()) {
    const size_t n = utf8_length(s);
    const auto first = static_cast<unsigned char>(s[0]);
    // ASCII control characters and U+0080 to U+009F, some of which terminals interpret too.
    const unsigned code = n == 1 ? first : n == 2 && first == 0xC2 ? static_cast<unsigned char>(s[1]) : 0x20;
    if (n == 0)
      out += "\xEF\xBF\xBD";
    else if (code == '\n' && !lines)
      out += "\\n";
    else if ((code < 0x20 && code != '\n') || (code >= 0x7F && code < 0xA0))
      out += {'\\', 'x', digits[code >> 4], digits[code & 15]};
    else
      out += s.substr(0, n);
    s.remove_prefix(n ? n : 1);
  }
  return out;
}

std::string excerpt(std::string_view s, size_t most) {
  if (s.size() <= most) return std::string(s);
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xC0) == 0x80) --end;
  return std::string(s.substr(0, end)) + "...";
}

}  // namespace dl4
