// UTF-8, as RFC 3629 has it.
#pragma once

#include <string>
#include <string_view>

namespace dl4 {

// Bytes of the first character of s; 0 if there is none: overlong, a surrogate, past U+10FFFF, cut off, or s is empty.
size_t utf8_length(std::string_view s) noexcept;
// s with U+FFFD in place of each byte that belongs to no character.
std::string valid_utf8(std::string_view s);
// The same in one line, as it may go to a terminal: control characters are escapes, "\n", "\x1b". `lines`: but for ends
// of lines.
std::string printable(std::string_view s, bool lines = false);
// The first characters of s and "...", at most `most` bytes in all; s itself where it is no longer.
std::string excerpt(std::string_view s, size_t most = 80);

}  // namespace dl4
