// Denormal numbers are flushed to zero inside a run (they slow an LSTM 20 times), and the caller's setting comes back
// after.
#pragma once

#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dl4 {

class FlushToZero {
 public:
  FlushToZero() noexcept : saved_(read()) { write(saved_ | flush); }
  ~FlushToZero() { write(saved_); }
  FlushToZero(const FlushToZero &) = delete;
  FlushToZero &operator=(const FlushToZero &) = delete;

  // Sets it for the rest of the calling thread's life.
  static void set() noexcept { write(read() | flush); }

 private:
#if defined(__SSE__)
  using Word = uint32_t;
  static constexpr Word flush = 0x8040;  // FTZ and DAZ of MXCSR
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word w) noexcept { _mm_setcsr(w); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word flush = Word{1} << 24;  // FZ of FPCR
  static Word read() noexcept {
    Word w;
    asm volatile("mrs %0, fpcr" : "=r"(w));
    return w;
  }
  static void write(Word w) noexcept { asm volatile("msr fpcr, %0" : : "r"(w)); }
#else
  using Word = uint32_t;
  static constexpr Word flush = 0;
  static Word read() noexcept { return 0; }
  static void write(Word) noexcept {}
#endif
  Word saved_;
};

}  // namespace dl4
