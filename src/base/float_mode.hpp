// The floating-point mode inside the library: round to nearest, no traps, denormals flushed to zero (they make an LSTM
// 20 times slower). All threads compute alike, whatever the caller has set; the caller's mode is restored afterwards.
#pragma once

#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dl4 {

// The thread's floating-point control word and flags.
struct FloatMode {
#if defined(__SSE__)
  static constexpr uint64_t plain = 0x1F80, flushing = 0x9FC0;  // MXCSR: all exceptions masked; FTZ, DAZ
  static constexpr uint64_t flag_bits = 0x3F;
  static FloatMode read() noexcept {
    const uint64_t word = _mm_getcsr();
    return {word & ~flag_bits, word & flag_bits};
  }
  void write() const noexcept { _mm_setcsr(static_cast<uint32_t>(control | flags)); }
#elif defined(__aarch64__)
  static constexpr uint64_t plain = 0, flushing = uint64_t{1} << 24;  // FZ of FPCR
  static FloatMode read() noexcept {
    FloatMode m;
    asm volatile("mrs %0, fpcr" : "=r"(m.control));
    asm volatile("mrs %0, fpsr" : "=r"(m.flags));
    return m;
  }
  void write() const noexcept {
    asm volatile("msr fpcr, %0" : : "r"(control));
    asm volatile("msr fpsr, %0" : : "r"(flags));
  }
#else
  static constexpr uint64_t plain = 0, flushing = 0;
  static FloatMode read() noexcept { return {}; }
  void write() const noexcept {}
#endif
  bool operator==(const FloatMode &) const = default;

  uint64_t control = plain, flags = 0;
};

class FlushToZero {
 public:
  FlushToZero() noexcept : saved_(FloatMode::read()) { set(); }
  ~FlushToZero() { saved_.write(); }
  FlushToZero(const FlushToZero &) = delete;
  FlushToZero &operator=(const FlushToZero &) = delete;

  // Sets the mode for the rest of the calling thread's life.
  static void set() noexcept { FloatMode{FloatMode::flushing}.write(); }

 private:
  const FloatMode saved_;
};

// Default floating-point mode within a scope: the caller's traps don't fire inside the library, and its flags are
// restored. A mode that is already right is not written again, since a write would cost time in every run.
class OwnFloats {
 public:
  OwnFloats() noexcept : saved_(FloatMode::read()) {
    if (saved_.control != FloatMode::plain) FloatMode().write();
  }
  ~OwnFloats() {
    if (!(FloatMode::read() == saved_)) saved_.write();
  }
  OwnFloats(const OwnFloats &) = delete;
  OwnFloats &operator=(const OwnFloats &) = delete;

 private:
  const FloatMode saved_;
};

}  // namespace dl4
