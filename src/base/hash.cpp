// FarmHash's fingerprint (farmhashna), SipHash-2-4, and TensorFlow's FingerprintCat64.
#include "base/hash.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace dl4 {
namespace {

constexpr uint64_t k0 = 0xC3A5C85C97CB3127u, k1 = 0xB492B66FBE98F273u, k2 = 0x9AE16A3B2F90404Fu;

// Little-endian, as all hosts of this library are.
uint64_t word(const char *s) noexcept {
  uint64_t w;
  std::memcpy(&w, s, sizeof w);
  return w;
}
uint64_t half_word(const char *s) noexcept {
  uint32_t w;
  std::memcpy(&w, s, sizeof w);
  return w;
}
uint64_t byte(char c) noexcept { return static_cast<unsigned char>(c); }
uint64_t mixed(uint64_t x) noexcept { return x ^ (x >> 47); }

uint64_t of_two(uint64_t u, uint64_t v, uint64_t mul) noexcept {
  const uint64_t a = mixed((u ^ v) * mul);
  return mixed((v ^ a) * mul) * mul;
}

uint64_t up_to_16(const char *s, size_t n) noexcept {
  const uint64_t mul = k2 + n * 2;
  if (n >= 8) {
    const uint64_t a = word(s) + k2, b = word(s + n - 8);
    return of_two(std::rotr(b, 37) * mul + a, (std::rotr(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return of_two(n + (half_word(s) << 3), half_word(s + n - 4), mul);
  if (n == 0) return k2;
  const uint64_t y = byte(s[0]) + (byte(s[n >> 1]) << 8), z = n + (byte(s[n - 1]) << 2);
  return mixed(y * k2 ^ z * k0) * k2;
}

uint64_t up_to_32(const char *s, size_t n) noexcept {
  const uint64_t mul = k2 + n * 2;
  const uint64_t a = word(s) * k1, b = word(s + 8), c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  return of_two(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, mul);
}

uint64_t up_to_64(const char *s, size_t n) noexcept {
  const uint64_t mul = k2 + n * 2;
  const uint64_t a = word(s) * k2, b = word(s + 8), c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = of_two(y, a + std::rotr(b + k2, 18) + c, mul);
  const uint64_t e = word(s + 16) * mul, f = word(s + 24);
  const uint64_t g = (y + word(s + n - 32)) * mul, h = (z + word(s + n - 24)) * mul;
  return of_two(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, mul);
}

struct Pair {
  uint64_t first = 0, second = 0;
};

// Of 32 bytes with two seeds.
Pair weak(const char *s, uint64_t a, uint64_t b) noexcept {
  const uint64_t w = word(s), x = word(s + 8), y = word(s + 16), z = word(s + 24);
  a += w;
  b = std::rotr(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += std::rotr(a, 44);
  return {a + z, b + c};
}

uint64_t longer(const char *s, size_t n) noexcept {
  uint64_t x = 81, y = 81 * k1 + 113, z = mixed(y * k2 + 113) * k2;
  Pair v, w;
  x = x * k2 + word(s);
  const char *end = s + (n - 1) / 64 * 64, *last = end + ((n - 1) & 63) - 63;
  auto round = [&](const char *p, uint64_t mul) {
    x = std::rotr(x + y + v.first + word(p + 8), 37) * mul;
    y = std::rotr(y + v.second + word(p + 48), 42) * mul;
  };
  for (; s != end; s += 64) {
    round(s, k1);
    x ^= w.second;
    y += v.first + word(s + 40);
    z = std::rotr(z + w.first, 33) * k1;
    v = weak(s, v.second * k1, x + w.first);
    w = weak(s + 32, z + w.second, y + word(s + 16));
    std::swap(z, x);
  }
  const uint64_t mul = k1 + ((z & 0xFF) << 1);
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  round(last, mul);
  x ^= w.second * 9;
  y += v.first * 9 + word(last + 40);
  z = std::rotr(z + w.first, 33) * mul;
  v = weak(last, v.second * mul, x + w.first);
  w = weak(last + 32, z + w.second, y + word(last + 16));
  std::swap(z, x);
  return of_two(of_two(v.first, w.first, mul) + mixed(y) * k0 + z, of_two(v.second, w.second, mul) + x, mul);
}

}  // namespace

uint64_t fingerprint(std::string_view s) noexcept {
  if (s.size() <= 16) return up_to_16(s.data(), s.size());
  if (s.size() <= 32) return up_to_32(s.data(), s.size());
  if (s.size() <= 64) return up_to_64(s.data(), s.size());
  return longer(s.data(), s.size());
}

uint64_t sip_hash(std::string_view s, const std::array<uint64_t, 2> &key) noexcept {
  uint64_t a = key[0] ^ 0x736F6D6570736575u, b = key[1] ^ 0x646F72616E646F6Du;
  uint64_t c = key[0] ^ 0x6C7967656E657261u, d = key[1] ^ 0x7465646279746573u;
  auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      a += b, c += d;
      b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b, a += d;
      b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  };
  auto take = [&](uint64_t m) {
    d ^= m;
    rounds(2);
    a ^= m;
  };
  size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) take(word(s.data() + i));
  uint64_t rest = static_cast<uint64_t>(s.size()) << 56;
  for (size_t k = 0; i + k < s.size(); ++k) rest |= byte(s[i + k]) << (8 * k);
  take(rest);
  c ^= 0xFF;
  rounds(4);
  return a ^ b ^ c ^ d;
}

uint64_t joined(uint64_t a, uint64_t b) noexcept {
  constexpr uint64_t mul = 0xC6A4A7935BD1E995u;
  uint64_t r = a ^ mul;
  r ^= mixed(b * mul) * mul;
  r *= mul;
  r = mixed(r) * mul;
  return mixed(r);
}

}  // namespace dl4
