// Sizes that may come from a user are multiplied and added here and nowhere else.
//
// Whoever makes a kernel or a plan computes sizes, scratch and offsets with these. A run does not: it moves within
// memory that exists, and an offset into a tensor is below its elements, of which Shape allows 2^40, or into a scratch
// whose size was computed here.
#pragma once

#include <cstdint>

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
