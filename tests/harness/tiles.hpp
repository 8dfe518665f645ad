// The tiles of AMX on processors without them too: there each instruction is refused by the processor, and a handler of
// the signal does what Intel's manual says it does. On threads that do not block SIGILL.
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#include <signal.h>
#include <ucontext.h>
#include <xmmintrin.h>

#include <cstdint>
#include <cstring>

#include "backend/cpu/kernels/gemm/amx_gemm.hpp"

namespace dl4_test {

namespace tiles {

constexpr int rows = 16, words = 16;

inline float of_bfloat16(uint32_t upper) {
  float v;
  std::memcpy(&v, &upper, sizeof v);
  return v;
}
inline float low(uint32_t word) { return of_bfloat16(word << 16); }
inline float high(uint32_t word) { return of_bfloat16(word & 0xFFFF0000); }

// TDPBF16PS: even and odd k are summed apart, then added, then added to C. Denormal numbers count as zeros.
inline void multiply_words(float *c, const uint32_t *a, const uint32_t *b) {
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);
  for (int i = 0; i < rows; ++i) {
    // Of four columns at once.
    for (int j = 0; j < words; j += 4) {
      __m128 even = _mm_setzero_ps(), odd = _mm_setzero_ps();
      for (int k = 0; k < words; ++k) {
        const uint32_t x = a[i * words + k];
        const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b + k * words + j));
        const __m128 y_low = _mm_castsi128_ps(_mm_slli_epi32(y, 16));
        const __m128 y_high = _mm_castsi128_ps(_mm_and_si128(y, _mm_set1_epi32(static_cast<int>(0xFFFF0000))));
        even = _mm_add_ps(even, _mm_mul_ps(_mm_set1_ps(low(x)), y_low));
        odd = _mm_add_ps(odd, _mm_mul_ps(_mm_set1_ps(high(x)), y_high));
      }
      _mm_storeu_ps(c + i * words + j, _mm_add_ps(_mm_loadu_ps(c + i * words + j), _mm_add_ps(even, odd)));
    }
  }
  _mm_setcsr(mode);
}

// The tiles of this thread, whole ones, as the kernel configures them.
inline thread_local bool configured = false;
inline thread_local uint32_t tiles[8][rows * words];

struct Instruction {
  const uint8_t *at;
  bool is(int prefix, int opcode) const { return (at[2] & 3) == prefix && at[3] == opcode; }
  int mod() const { return at[4] >> 6; }
  int reg() const { return at[4] >> 3 & 7; }
  int rm() const { return at[4] & 7; }
  int third() const { return ~at[2] >> 3 & 7; }
};

inline greg_t &value_of(ucontext_t &context, int number) {
  constexpr int names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[names[number]];
}

// Does the instruction, and steps over it, if it is one of tiles.
inline bool step(ucontext_t &context) {
  auto &pc = context.uc_mcontext.gregs[REG_RIP];
  const Instruction in{reinterpret_cast<const uint8_t *>(pc)};
  const bool known = in.at[0] == 0xC4 && (in.at[1] & 0x1F) == 2;
  constexpr int none = 0, f3 = 2, f2 = 3;
  if (known && in.is(none, 0x49) && in.mod() == 3) {  // TILERELEASE
    configured = false;
    pc += 5;
  } else if (known && in.is(none, 0x49)) {  // LDTILECFG, of any address
    configured = true;
    std::memset(tiles, 0, sizeof tiles);
    const bool relative = in.mod() == 0 && in.rm() == 5;
    pc += 5 + (in.rm() == 4 ? 1 : 0) + (relative || in.mod() == 2 ? 4 : in.mod() == 1 ? 1 : 0);
  } else if (known && configured && in.is(f2, 0x49)) {  // TILEZERO
    std::memset(tiles[in.reg()], 0, sizeof tiles[0]);
    pc += 5;
  } else if (known && configured && (in.is(f2, 0x4B) || in.is(f3, 0x4B)) && in.rm() == 4) {  // TILELOADD, TILESTORED
    const int sib = in.at[5], base = (sib & 7) | (in.at[1] & 0x20 ? 0 : 8),
              index = (sib >> 3 & 7) | (in.at[1] & 0x40 ? 0 : 8);
    int64_t address = value_of(context, base);
    int length = 6;
    if (in.mod() == 1) address += static_cast<int8_t>(in.at[6]), length = 7;
    if (in.mod() == 2) {
      int32_t offset;
      std::memcpy(&offset, in.at + 6, sizeof offset);
      address += offset, length = 10;
    }
    const int64_t step = value_of(context, index) << (sib >> 6);
    for (int i = 0; i < rows; ++i) {
      auto *row = reinterpret_cast<char *>(address + i * step);
      if (in.is(f2, 0x4B))
        std::memcpy(tiles[in.reg()] + i * words, row, 64);
      else
        std::memcpy(row, tiles[in.reg()] + i * words, 64);
    }
    pc += length;
  } else if (known && configured && in.is(f3, 0x5C) && in.mod() == 3) {  // TDPBF16PS
    float c[rows * words];
    std::memcpy(c, tiles[in.reg()], sizeof c);
    multiply_words(c, tiles[in.rm()], tiles[in.third()]);
    std::memcpy(tiles[in.reg()], c, sizeof c);
    pc += 5;
  } else {
    return false;
  }
  return true;
}

// Does the instruction, and steps over it, if it is one of those between two of tiles: mov of 64 bits from [register +
// 8 bits], add of such a word or of a register. A signal takes longer than what it is for.
inline bool step_between(ucontext_t &context) {
  auto &pc = context.uc_mcontext.gregs[REG_RIP];
  const auto *at = reinterpret_cast<const uint8_t *>(pc);
  const int mod = at[2] >> 6, rm = at[2] & 7;
  if ((at[0] & 0xFA) != 0x48) return false;  // 64 bits
  greg_t &reg = value_of(context, (at[2] >> 3 & 7) | (at[0] & 4) << 1),
         &base = value_of(context, rm | (at[0] & 1) << 3);
  greg_t *to = &reg, from = base;
  pc += 3;
  if (at[1] == 0x01 && mod == 3) {
    to = &base, from = reg;
  } else if ((at[1] == 0x8B || at[1] == 0x03) && mod < 2 && rm != 4 && (mod == 1 || rm != 5)) {
    std::memcpy(&from, reinterpret_cast<const char *>(base + (mod == 1 ? static_cast<int8_t>(at[3]) : 0)), sizeof from);
    pc += mod;
  } else {
    pc -= 3;
    return false;
  }
  if (at[1] == 0x8B) {
    *to = from;
    return true;
  }
  bool carry, even, zero, negative, overflow;
  asm("add %6, %0"
      : "+r"(*to), "=@ccc"(carry), "=@ccp"(even), "=@ccz"(zero), "=@ccs"(negative), "=@cco"(overflow)
      : "r"(from));
  auto &flags = context.uc_mcontext.gregs[REG_EFL];
  flags = (flags & ~0x8C5) | carry | even << 2 | zero << 6 | negative << 7 | overflow << 11;
  return true;
}

inline void emulate(int, siginfo_t *, void *given) {
  auto &context = *static_cast<ucontext_t *>(given);
  if (!step(context)) signal(SIGILL, SIG_DFL);  // and it comes again
  while (step(context) || step_between(context)) {
  }
}

}  // namespace tiles

// While it lives, this processor has tiles: its own, or emulated ones.
class WithTiles {
 public:
  WithTiles() {
    dl4::kernels::pretend_tiles(true);
    if (own_) return;
    struct sigaction action {};
    action.sa_sigaction = tiles::emulate;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
  }
  ~WithTiles() {
    dl4::kernels::pretend_tiles(own_);
    if (!own_) sigaction(SIGILL, &before_, nullptr);
  }
  WithTiles(const WithTiles &) = delete;
  WithTiles &operator=(const WithTiles &) = delete;

 private:
  const bool own_ = dl4::kernels::has_tiles();
  struct sigaction before_ {};
};

}  // namespace dl4_test
#endif
