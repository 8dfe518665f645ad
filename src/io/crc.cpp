#include "io/crc.hpp"

#include <zlib.h>

#include <algorithm>
#include <climits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dl4::io {
namespace {

uint32_t by_zlib(std::span<const std::byte> bytes, uint32_t before) {
  uLong sum = before;
  while (!bytes.empty()) {
    const size_t n = std::min<size_t>(bytes.size(), INT_MAX);
    sum = crc32(sum, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(n));
    bytes = bytes.subspan(n);
  }
  return static_cast<uint32_t>(sum);
}

#if defined(__x86_64__)

constexpr size_t block = 64;

__attribute__((target("pclmul"))) __m128i fold(__m128i x, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// 16 bytes that leave, from a register of zeros, what whole blocks leave from `state`: Gopal and others, "Fast CRC
// Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009, whose constants these are.
__attribute__((target("pclmul"))) void fold_blocks(std::span<const std::byte> bytes, uint32_t state, std::byte *to) {
  const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const auto *from = reinterpret_cast<const __m128i *>(bytes.data());
  __m128i x[4];
  for (int i = 0; i < 4; ++i) x[i] = _mm_loadu_si128(from + i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(static_cast<int>(state)));
  for (size_t at = block; at < bytes.size(); at += block) {
    from += 4;
    for (int i = 0; i < 4; ++i) x[i] = fold(x[i], by_64, _mm_loadu_si128(from + i));
  }
  for (int i = 1; i < 4; ++i) x[0] = fold(x[0], by_16, x[i]);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to), x[0]);
}

#endif

}  // namespace

uint32_t crc_of(std::span<const std::byte> bytes, uint32_t before) {
#if defined(__x86_64__)
  if (bytes.size() >= 4 * block && __builtin_cpu_supports("pclmul")) {
    const size_t whole = bytes.size() / block * block;
    std::byte rest[16];
    fold_blocks(bytes.first(whole), ~before, rest);
    before = by_zlib(rest, UINT32_MAX);
    bytes = bytes.subspan(whole);
  }
#endif
  return by_zlib(bytes, before);
}

}  // namespace dl4::io
