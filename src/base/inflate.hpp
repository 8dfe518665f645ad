// DEFLATE, RFC 1951, and zlib's form of it, RFC 1950.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dl4 {

// Inflates zlib's or, with `raw`, deflate's form into all of `to`; false unless `from` is exactly these bytes.
bool inflate(std::string_view from, std::span<std::byte> to, bool raw) noexcept;
// A text of the library itself that is stored deflated, of `size` bytes.
std::string inflated(std::string_view from, int64_t size);

}  // namespace dl4
