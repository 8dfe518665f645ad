// The characters of UTF-8, and what stands for bytes that are none.
#include "base/tokens.hpp"

#include "base/utf8.hpp"

namespace dl4 {
namespace {

// How many bytes of what is no character count as one, as in the Unicode standard (3.9, "maximal subpart"): those that
// could have begun one.
size_t ill_formed(std::string_view s) noexcept {
  auto at = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const unsigned lead = at(0);
  size_t more = lead >= 0xC2 && lead <= 0xDF   ? 1
                : lead >= 0xE0 && lead <= 0xEF ? 2
                : lead >= 0xF0 && lead <= 0xF4 ? 3
                                               : 0;
  unsigned least = lead == 0xE0 ? 0xA0u : lead == 0xF0 ? 0x90u : 0x80u;
  unsigned most = lead == 0xED ? 0x9Fu : lead == 0xF4 ? 0x8Fu : 0xBFu;
  size_t n = 1;
  for (; n <= more && at(n) >= least && at(n) <= most; ++n) least = 0x80, most = 0xBF;
  return n;
}

}  // namespace

std::string_view Tokenizer::character(std::string_view s, size_t &taken) noexcept {
  taken = utf8_length(s);
  if (taken) return s.substr(0, taken);
  taken = ill_formed(s);
  return "\xEF\xBF\xBD";
}

}  // namespace dl4
