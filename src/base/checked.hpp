// Sizes that may come from a user are multiplied and added here and nowhere else.
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace dl4 {

inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) fail(Code::invalid_argument, "size overflows 64 bits: ", a, " * ", b);
  return r;
}

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) fail(Code::invalid_argument, "size overflows 64 bits: ", a, " + ", b);
  return r;
}

// n rounded up to a multiple of `to`.
inline int64_t round_up(int64_t n, int64_t to) { return checked_mul(checked_add(n, to - 1) / to, to); }

}  // namespace dl4
