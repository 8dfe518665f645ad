// Files of the library's, whole.
#pragma once

#include <array>
#include <string>

#include "io/file.hpp"

namespace dl4::io {

inline void write(const std::string &path, std::string_view bytes) { write_file(path, std::array{bytes}); }

inline std::string read_file(const std::string &path, int64_t limit) {
  const File file(path, limit);
  std::string bytes(static_cast<size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace dl4::io
