// CRC-32 of zip, zlib and PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dl4::io {

// CRC of bytes that follow others with CRC `before`; 0 at the start. Runs at memory speed on x86 with carry-less
// multiplication.
uint32_t crc_of(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace dl4::io
