// Inside a run every thread computes alike, whatever the caller has set: to nearest, without traps, denormal numbers
// flushed to zero (they slow an LSTM 20 times). The caller's setting comes back after.
#pragma once

#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dl4 {

class FlushToZero {
 public:
  FlushToZero() noexcept : saved_(read()) { write(inside); }
  ~FlushToZero() { write(saved_); }
  FlushToZero(const FlushToZero &) = delete;
  FlushToZero &operator=(const FlushToZero &) = delete;

  // Sets it for the rest of the calling thread's life.
  static void set() noexcept { write(inside); }

 private:
#if defined(__SSE__)
  using Word = uint32_t;
  static constexpr Word inside = 0x9FC0;  // MXCSR: all exceptions masked, FTZ, DAZ
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word w) noexcept { _mm_setcsr(w); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word inside = Word{1} << 24;  // FZ of FPCR
  static Word read() noexcept {
    Word w;
    asm volatile("mrs %0, fpcr" : "=r"(w));
    return w;
  }
  static void write(Word w) noexcept { asm volatile("msr fpcr, %0" : : "r"(w)); }
#else
  using Word = uint32_t;
  static constexpr Word inside = 0;
  static Word read() noexcept { return 0; }
  static void write(Word) noexcept {}
#endif
  Word saved_;
};

// While it lives, the thread computes as a program does that has set nothing: the caller's traps don't fire in the
// library, and his flags are as before. What is as it should be is not written again: that would cost a run.
class OwnFloats {
 public:
  OwnFloats() noexcept : saved_(read()) {
    if (saved_.mode() != plain) write({plain});
  }
  ~OwnFloats() {
    if (!(read() == saved_)) write(saved_);
  }
  OwnFloats(const OwnFloats &) = delete;
  OwnFloats &operator=(const OwnFloats &) = delete;

 private:
#if defined(__SSE__)
  static constexpr uint32_t plain = 0x1F80;  // MXCSR: all exceptions masked, to nearest
  struct Word {
    uint32_t bits;
    uint32_t mode() const { return bits & ~0x3Fu; }  // the lowest are flags
    bool operator==(const Word &) const = default;
  };
  static Word read() noexcept { return {_mm_getcsr()}; }
  static void write(Word w) noexcept { _mm_setcsr(w.bits); }
#elif defined(__aarch64__)
  static constexpr uint64_t plain = 0;
  struct Word {
    uint64_t control, status = 0;
    uint64_t mode() const { return control; }
    bool operator==(const Word &) const = default;
  };
  static Word read() noexcept {
    Word w{0};
    asm volatile("mrs %0, fpcr" : "=r"(w.control));
    asm volatile("mrs %0, fpsr" : "=r"(w.status));
    return w;
  }
  static void write(Word w) noexcept {
    asm volatile("msr fpcr, %0" : : "r"(w.control));
    asm volatile("msr fpsr, %0" : : "r"(w.status));
  }
#else
  static constexpr uint32_t plain = 0;
  struct Word {
    uint32_t bits;
    uint32_t mode() const { return bits; }
    bool operator==(const Word &) const = default;
  };
  static Word read() noexcept { return {0}; }
  static void write(Word) noexcept {}
#endif
  const Word saved_;
};

}  // namespace dl4
