#pragma once

#include <algorithm>
#include <string_view>

namespace dl4 {

// Removes the part of `text` before the next `mark`, and the mark, and returns that part.
inline std::string_view take(std::string_view &text, char mark) {
  const std::string_view first = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), first.size() + 1));
  return first;
}

}  // namespace dl4
