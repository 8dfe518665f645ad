// UTF-8 (RFC 3629).
#pragma once

#include <string>
#include <string_view>

namespace dl4 {

// Bytes of the first character of s. 0 if it is invalid (overlong, a surrogate, past U+10FFFF, cut off) or s is empty.
size_t utf8_length(std::string_view s) noexcept;
// The number of a character of Unicode and back; the first of a valid s.
char32_t utf8_character(std::string_view s) noexcept;
void append_utf8(char32_t c, std::string &to);
// Replaces each byte that belongs to no character by U+FFFD.
std::string valid_utf8(std::string_view s);
// The same on one line, safe for a terminal: control characters are escaped ("
// ", "\x1b"). `lines` keeps line ends.
std::string printable(std::string_view s, bool lines = false);
// The first characters of s and "...", at most `most` bytes in all; s itself if it fits.
std::string excerpt(std::string_view s, size_t most = 80);

}  // namespace dl4
