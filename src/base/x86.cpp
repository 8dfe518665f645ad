// Queries the processor directly: not every compiler's run time has __builtin_cpu_supports.
#include "base/x86.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

namespace dl4::x86 {
namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
  static bool bit(unsigned word, int n) { return (word >> n & 1) != 0; }
};

Registers cpuid(unsigned leaf, unsigned part = 0) {
  Registers r;
  if (!__get_cpuid_count(leaf, part, &r.a, &r.b, &r.c, &r.d)) return {};
  return r;
}

// Bits of the register sets that the system saves (XCR0).
unsigned saved() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

#ifdef DL4_WITHOUT_AVX512  // for timing the kernels of a processor without AVX-512
constexpr bool with_avx512 = false;
#else
constexpr bool with_avx512 = true;
#endif

Extensions ask() {
  const auto bit = Registers::bit;
  const Registers one = cpuid(1), seven = cpuid(7);
  Extensions e;
  e.intel = cpuid(0).b == signature_INTEL_ebx;
  e.pclmul = bit(one.c, 1), e.sse4_1 = bit(one.c, 19), e.sse4_2 = bit(one.c, 20);
  e.lzcnt = bit(cpuid(0x80000001).c, 5), e.bmi = bit(seven.b, 3), e.bmi2 = bit(seven.b, 8);
  constexpr unsigned vectors = 0x6, wide_vectors = 0xE6, tiles = 0x60000;
  const unsigned system = bit(one.c, 27) ? saved() : 0;
  if ((system & vectors) != vectors) return e;
  e.avx = bit(one.c, 28), e.fma = bit(one.c, 12), e.f16c = bit(one.c, 29);
  e.avx2 = bit(seven.b, 5), e.vpclmul = bit(seven.c, 10);
  if (!with_avx512 || (system & wide_vectors) != wide_vectors) return e;
  e.avx512f = bit(seven.b, 16), e.avx512dq = bit(seven.b, 17), e.avx512cd = bit(seven.b, 28);
  e.avx512bw = bit(seven.b, 30), e.avx512vl = bit(seven.b, 31), e.avx512vnni = bit(seven.c, 11);
  e.avx512bf16 = e.avx512f && seven.a >= 1 && bit(cpuid(7, 1).a, 5);
  e.amx_bf16 = (system & tiles) == tiles && bit(seven.d, 24) && bit(seven.d, 22);
  return e;
}

}  // namespace

const Extensions &extensions() noexcept {
  static const Extensions found = ask();
  return found;
}

}  // namespace dl4::x86
#endif
