// Hashes of bytes that are a part of files and models: the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dl4 {

// FarmHash's Fingerprint64.
uint64_t fingerprint(std::string_view s) noexcept;
// SipHash-2-4 with a key of 16 bytes.
uint64_t sip_hash(std::string_view s, const std::array<uint64_t, 2> &key) noexcept;
// One fingerprint of two, as TensorFlow crosses features.
uint64_t joined(uint64_t a, uint64_t b) noexcept;

}  // namespace dl4
