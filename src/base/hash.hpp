// FNV-1a, 64 bits (Fowler, Noll, Vo). The same on every machine; not collision resistant.
#pragma once

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

}  // namespace dl4
