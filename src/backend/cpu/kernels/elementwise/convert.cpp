// Selects, conversions and fills. Plain loops, vectorised by the compiler for each instruction set.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "base/saturated.hpp"
#include "base/strings.hpp"

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise/convert.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

template <class T>
void choose(const uint8_t *mask, int64_t step_m, const T *a, int64_t step_a, const T *b, int64_t step_b, T *y,
            int64_t n) {
  if (!step_m) {
    const T *from = *mask ? a : b;
    const int64_t step = *mask ? step_a : step_b;
    if (step && from != y) std::memcpy(y, from, static_cast<size_t>(n) * sizeof(T));
    if (!step) std::fill_n(y, n, T{*from});
  } else if (step_a && step_b) {
    DL4_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = mask[i] ? a[i] : b[i];
  } else if (step_a) {
    const T v = *b;
    DL4_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = mask[i] ? a[i] : v;
  } else if (step_b) {
    const T v = *a;
    DL4_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = mask[i] ? v : b[i];
  } else {
    const T v = *a, w = *b;
    DL4_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = mask[i] ? v : w;
  }
}

struct Bool {  // a byte, true unless 0
  uint8_t v;
};

template <class To, class From>
HWY_INLINE To convert(From x) {
  if constexpr (std::is_same_v<From, Bool>)
    return convert<To>(static_cast<uint8_t>(x.v != 0));
  else if constexpr (std::is_same_v<To, Bool>)
    return {static_cast<uint8_t>(x != From{})};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return saturated<To>(x);
  else if constexpr (std::is_integral_v<From> && std::is_integral_v<To> && sizeof(To) < sizeof(From)) {
    constexpr From low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return static_cast<To>(x < low ? low : x > high ? high : x);
  } else
    return static_cast<To>(x);
}

template <class To, class From>
void cast_loop(const void *x, void *y, int64_t n) {
  const From *a = static_cast<const From *>(x);
  To *b = static_cast<To *>(y);
  DL4_IVDEP
  for (int64_t i = 0; i < n; ++i) b[i] = convert<To>(a[i]);
}

template <class From>
void cast_from(DType to, const void *x, void *y, int64_t n) {
  switch (to) {
    case DType::f32:
      return cast_loop<float, From>(x, y, n);
    case DType::f64:
      return cast_loop<double, From>(x, y, n);
    case DType::i32:
      return cast_loop<int32_t, From>(x, y, n);
    case DType::i64:
      return cast_loop<int64_t, From>(x, y, n);
    case DType::u8:
      return cast_loop<uint8_t, From>(x, y, n);
    case DType::boolean:
      return cast_loop<Bool, From>(x, y, n);
    case DType::string:
      return;
  }
}

}  // namespace

void select_all(int64_t size, const uint8_t *mask, int64_t step_m, const void *a, int64_t step_a, const void *b,
                int64_t step_b, void *out, int64_t n) {
  auto as = [&](auto type) {
    using T = decltype(type);
    choose(mask, step_m, static_cast<const T *>(a), step_a, static_cast<const T *>(b), step_b, static_cast<T *>(out),
           n);
  };
  if (size == 1) as(uint8_t{});
  if (size == 4) as(uint32_t{});
  if (size == 8) as(uint64_t{});
  if (size == sizeof(String)) as(String{});
}

void cast_all(DType from, DType to, const void *x, void *y, int64_t n) {
  switch (from) {
    case DType::f32:
      return cast_from<float>(to, x, y, n);
    case DType::f64:
      return cast_from<double>(to, x, y, n);
    case DType::i32:
      return cast_from<int32_t>(to, x, y, n);
    case DType::i64:
      return cast_from<int64_t>(to, x, y, n);
    case DType::u8:
      return cast_from<uint8_t>(to, x, y, n);
    case DType::boolean:
      return cast_from<Bool>(to, x, y, n);
    case DType::string:
      return;
  }
}

void reduce_precision_all(int exponent_bits, int mantissa_bits, const float *x, float *y, int64_t n) {
  constexpr uint64_t bias = 1023, bits = 52;  // of double
  const uint64_t span = uint64_t{1} << (exponent_bits - 1);
  const uint64_t least = bias + 2 - span;
  const double largest = std::ldexp(2 - std::ldexp(1.0, -mantissa_bits), static_cast<int>(span) - 1);
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    const uint64_t exponent = std::bit_cast<uint64_t>(v) >> bits & (2 * bias + 1);
    // Near 1.5 times this power of 2, a double has exactly the bits that are kept.
    const uint64_t at = std::clamp(exponent, least, 2 * bias - bits) + bits - static_cast<uint64_t>(mantissa_bits);
    const double by = std::bit_cast<double>((at << bits) | (uint64_t{1} << (bits - 1)));
    const double near = std::copysign((v + by) - by, v);
    y[i] = static_cast<float>(std::abs(near) > largest ? std::copysign(HUGE_VAL, v) : near);
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(select_all);
HWY_EXPORT(cast_all);
HWY_EXPORT(reduce_precision_all);

void select_run(int64_t size, const uint8_t *mask, int64_t step_mask, const void *a, int64_t step_a, const void *b,
                int64_t step_b, void *out, int64_t n) noexcept {
  if (n > 0) HWY_DYNAMIC_DISPATCH(select_all)(size, mask, step_mask, a, step_a, b, step_b, out, n);
}
void cast_run(DType from, DType to, const void *x, void *y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(cast_all)(from, to, x, y, n);
}
void reduce_precision(int exponent_bits, int mantissa_bits, const float *x, float *y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(reduce_precision_all)(exponent_bits, mantissa_bits, x, y, n);
}

void fill(int64_t size, const void *value, void *y, int64_t n) noexcept {
  auto as = [&](auto v) {
    std::memcpy(&v, value, sizeof v);
    auto *to = static_cast<decltype(v) *>(y);
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i, &v, sizeof v);
  };
  if (size == 1) as(uint8_t{});
  if (size == 4) as(uint32_t{});
  if (size == 8) as(uint64_t{});
  if (size == sizeof(String)) as(String{});
}

}  // namespace dl4::kernels
#endif
