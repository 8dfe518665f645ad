// DEFLATE (RFC 1951) and its zlib format (RFC 1950).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dl4 {

// Inflates zlib format or, with `raw`, plain DEFLATE into all of `to`. False unless `from` is exactly one such stream.
bool inflate(std::string_view from, std::span<std::byte> to, bool raw) noexcept;
// Inflates a text of `size` bytes that is embedded in the library.
std::string inflated(std::string_view from, int64_t size);

}  // namespace dl4
