#include "io/crc.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

#include "base/x86.hpp"
#elif defined(__aarch64__)
#include <arm_acle.h>

#include "base/os/processor.hpp"
#endif

namespace dl4::io {
namespace {

// What a byte contributes to the register, alone and followed by 1 to 7 more bytes.
constexpr auto tables = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t state = i;
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0xEDB88320 : 0);
    t[0][i] = state;
  }
  for (size_t k = 1; k < t.size(); ++k)
    for (size_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
  return t;
}();

uint32_t by_tables(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t state = ~before;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    word ^= state;
    state = 0;
    for (size_t k = 0; k < 8; ++k) state ^= tables[7 - k][word >> 8 * k & 255];
  }
  for (const std::byte b : bytes) state = state >> 8 ^ tables[0][(state ^ static_cast<uint32_t>(b)) & 255];
  return ~state;
}

#if defined(__x86_64__)

// Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009: folds bytes
// that start with register `state` into fewer bytes that start with zeros. Each factor is x to the distance that a
// register moves, plus and minus 32 bits, modulo the polynomial.
constexpr size_t block = 64, wide_block = 4 * block;
// The hardware prefetcher stops at page boundaries, and a new page starts slowly.
constexpr size_t ahead = 8192;

__attribute__((target("pclmul"))) __m128i fold(__m128i x, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Folds whole blocks into 16 bytes.
__attribute__((target("pclmul"))) void fold_blocks(std::span<const std::byte> bytes, uint32_t state, std::byte *to) {
  const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const auto *from = reinterpret_cast<const __m128i *>(bytes.data());
  __m128i x[4];
  for (int i = 0; i < 4; ++i) x[i] = _mm_loadu_si128(from + i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(static_cast<int>(state)));
  for (size_t at = block; at < bytes.size(); at += block) {
    __builtin_prefetch(bytes.data() + std::min(at + ahead, bytes.size()));
    from += 4;
    for (int i = 0; i < 4; ++i) x[i] = fold(x[i], by_64, _mm_loadu_si128(from + i));
  }
  for (int i = 1; i < 4; ++i) x[0] = fold(x[0], by_16, x[i]);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to), x[0]);
}

// Folds whole wide blocks into one block.
__attribute__((target("avx512f,vpclmulqdq"))) void fold_wide(std::span<const std::byte> bytes, uint32_t state,
                                                             std::byte *to) {
  constexpr int64_t more = 0x011542778a, less = 0x01322d1430;
  const __m512i by_256 = _mm512_set_epi64(less, more, less, more, less, more, less, more);
  const std::byte *from = bytes.data();
  __m512i x[4];
  for (size_t i = 0; i < 4; ++i) x[i] = _mm512_loadu_si512(from + block * i);
  x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
  for (size_t at = wide_block; at < bytes.size(); at += wide_block)
    for (size_t i = 0; i < 4; ++i) {
      __builtin_prefetch(from + std::min(at + block * i + ahead, bytes.size()));
      const __m512i low = _mm512_clmulepi64_epi128(x[i], by_256, 0x00);
      const __m512i high = _mm512_clmulepi64_epi128(x[i], by_256, 0x11);
      x[i] = _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(from + at + block * i), 0x96);  // three-way xor
    }
  for (size_t i = 0; i < 4; ++i) _mm512_storeu_si512(to + block * i, x[i]);
}

uint32_t by_folding(std::span<const std::byte> bytes, uint32_t before) {
  const bool wide = bytes.size() >= 4 * wide_block && x86::extensions().avx512f && x86::extensions().vpclmul;
  const size_t unit = wide ? wide_block : block, whole = bytes.size() / unit * unit;
  std::span<const std::byte> head = bytes.first(whole);
  uint32_t state = ~before;
  std::byte folded[wide_block], rest[16];
  if (wide) {
    fold_wide(head, state, folded);
    head = folded;
    state = 0;
  }
  fold_blocks(head, state, rest);
  return by_tables(bytes.subspan(whole), by_tables(rest, UINT32_MAX));
}

#elif defined(__aarch64__)

__attribute__((target("+crc"))) uint32_t by_words(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t state = ~before;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    state = __crc32d(state, word);
  }
  return by_tables(bytes, ~state);
}

#endif

}  // namespace

uint32_t crc_of(std::span<const std::byte> bytes, uint32_t before) {
#if defined(__x86_64__)
  if (bytes.size() >= 4 * block && x86::extensions().pclmul) return by_folding(bytes, before);
#elif defined(__aarch64__)
  static const bool has = os::arm_extensions().crc32;
  if (has) return by_words(bytes, before);
#endif
  return by_tables(bytes, before);
}

}  // namespace dl4::io
