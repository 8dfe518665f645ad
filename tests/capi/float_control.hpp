// The calling thread's control word of floating-point arithmetic, of which <fenv.h> knows the rounding alone.
#pragma once

#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dl4_test {

#if defined(__SSE__)
constexpr uint32_t flush_to_zero = 0x8000;
// Its lowest bits say what has happened so far.
inline uint32_t float_control() { return _mm_getcsr() & ~0x3Fu; }
inline void set_float_control(uint32_t word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
constexpr uint32_t flush_to_zero = 1u << 24;
inline uint32_t float_control() { return __builtin_aarch64_get_fpcr(); }
inline void set_float_control(uint32_t word) { __builtin_aarch64_set_fpcr(word); }
#else
constexpr uint32_t flush_to_zero = 0;
inline uint32_t float_control() { return 0; }
inline void set_float_control(uint32_t) {}
#endif

}  // namespace dl4_test
