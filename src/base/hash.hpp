// Hashes, the same on every machine: FNV-1a (64 bits; Fowler, Noll, Vo), which is not collision resistant, and those of
// bytes that are a part of files and models.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dl4 {

struct Fnv1a {
  static constexpr uint64_t prime = 0x100000001B3u, basis = 0xCBF29CE484222325u;

  uint64_t value = basis;

  constexpr Fnv1a &add(uint64_t byte) {
    value = (value ^ byte) * prime;
    return *this;
  }
  constexpr Fnv1a &add(std::string_view s) {
    for (char c : s) add(static_cast<unsigned char>(c));
    return *this;
  }
  constexpr uint32_t folded() const { return static_cast<uint32_t>(value ^ value >> 32); }
};

// FarmHash's Fingerprint64.
uint64_t fingerprint(std::string_view s) noexcept;
// SipHash-2-4 with a key of 16 bytes.
uint64_t sip_hash(std::string_view s, const std::array<uint64_t, 2> &key) noexcept;
// One fingerprint of two, as TensorFlow crosses features.
uint64_t joined(uint64_t a, uint64_t b) noexcept;

}  // namespace dl4
