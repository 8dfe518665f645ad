// Floats as integers of any value.
#pragma once

#include <limits>

namespace dl4 {

// Truncates and saturates; NaN gives 0. Always inlined: kernels are compiled for several instruction sets.
template <class To, class From>
[[gnu::always_inline]] inline To saturated(From x) {
  // Rounding crosses neither bound: the lower one is a power of 2, and so is the upper one plus 1.
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (x >= above) return std::numeric_limits<To>::max();
  if (x <= low) return std::numeric_limits<To>::min();
  return x == x ? static_cast<To>(x) : To{0};
}

}  // namespace dl4
