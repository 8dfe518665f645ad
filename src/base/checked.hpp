// Overflow-checked arithmetic for sizes that may come from a user; nothing else multiplies or adds them.
//
// Kernel and plan construction computes sizes, scratch and offsets with these. A run needs no checks: it stays within
// existing memory. Offsets into a tensor are below its element count, which Shape limits to 2^40, and scratch sizes
// were computed here.
#pragma once

#include "base/error.hpp"

namespace dl4 {

template <class... More>
constexpr int64_t checked_mul(int64_t a, int64_t b, More... more) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) fail(Code::invalid_argument, "size overflows 64 bits: ", a, " * ", b);
  if constexpr (sizeof...(more) > 0)
    return checked_mul(r, more...);
  else
    return r;
}

template <class... More>
constexpr int64_t checked_add(int64_t a, int64_t b, More... more) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) fail(Code::invalid_argument, "size overflows 64 bits: ", a, " + ", b);
  if constexpr (sizeof...(more) > 0)
    return checked_add(r, more...);
  else
    return r;
}

// n rounded up to a multiple of `to`.
constexpr int64_t round_up(int64_t n, int64_t to) { return checked_add(n, to - 1) / to * to; }

}  // namespace dl4
