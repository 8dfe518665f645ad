// CRC-32, as zip, zlib and PNG have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dl4::io {

// Of bytes behind others whose sum is `before`; 0 begins. At the speed of memory on an x86 that multiplies
// without carry.
uint32_t crc_of(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace dl4::io
