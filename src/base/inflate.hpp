#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dl4 {

// Inflates zlib's or, with `raw`, deflate's form into all of `to`; false if it is not just so many bytes.
bool inflate(std::string_view from, std::span<std::byte> to, bool raw);
// A text of the library itself that lies deflated, of `size` bytes.
std::string inflated(std::string_view from, int64_t size);

}  // namespace dl4
