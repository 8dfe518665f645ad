// Functions of two values over one innermost run of a broadcast. Plain loops, vectorised by the compiler for each
// instruction set.
#include "backend/cpu/kernels/elementwise/elementwise.hpp"

#include <cmath>
#include <type_traits>

#include "backend/cpu/kernels/simd/simd.hpp"
#include "base/math.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise/binary.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// Quotient rounded down and remainder; both 0 for an integer b of 0, as in NumPy. a / -1 may overflow.
template <class T>
HWY_INLINE T floor_div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if (b == -1) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
    return static_cast<T>(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));
  } else {
    return std::floor(a / b);
  }
}
template <class T>
HWY_INLINE T fmod(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return b == 0 || b == -1 ? 0 : static_cast<T>(a % b);
  else
    return std::fmod(a, b);
}
template <class T>
HWY_INLINE T mod(T a, T b) {
  const T rest = fmod(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? static_cast<T>(rest + b) : rest;
}

template <class T>
HWY_INLINE T shifted(T a, T by, bool left) {
  constexpr T bits = 8 * sizeof(T);
  if (by < 0 || by >= bits) return static_cast<T>(!left && a < 0 ? -1 : 0);
  return left ? static_cast<T>(static_cast<uint64_t>(a) << by) : static_cast<T>(a >> by);
}

template <Binary F, class T>
HWY_INLINE auto value(T a, T b) {
  // Only unsigned integers wrap by definition.
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  if constexpr (F == Binary::add)
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  else if constexpr (F == Binary::sub)
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  else if constexpr (F == Binary::mul)
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  else if constexpr (F == Binary::div)
    return a / b;
  else if constexpr (F == Binary::max)
    return ((a > b) | (a != a)) ? a : b;
  else if constexpr (F == Binary::min)
    return ((a < b) | (a != a)) ? a : b;
  else if constexpr (F == Binary::pow)
    return math::pow(a, b);
  else if constexpr (F == Binary::atan2)
    return math::atan2(a, b);
  else if constexpr (F == Binary::squared_difference)
    return (a - b) * (a - b);
  else if constexpr (F == Binary::mod)
    return mod(a, b);
  else if constexpr (F == Binary::fmod)
    return fmod(a, b);
  else if constexpr (F == Binary::floor_div)
    return floor_div(a, b);
  else if constexpr (F == Binary::bitwise_and)
    return static_cast<T>(a & b);
  else if constexpr (F == Binary::bitwise_or)
    return static_cast<T>(a | b);
  else if constexpr (F == Binary::bitwise_xor)
    return static_cast<T>(a ^ b);
  else if constexpr (F == Binary::left_shift || F == Binary::right_shift)
    return shifted(a, b, F == Binary::left_shift);
  else if constexpr (F == Binary::equal)
    return static_cast<uint8_t>(a == b);
  else if constexpr (F == Binary::not_equal)
    return static_cast<uint8_t>(a != b);
  else if constexpr (F == Binary::less)
    return static_cast<uint8_t>(a < b);
  else if constexpr (F == Binary::less_equal)
    return static_cast<uint8_t>(a <= b);
  else if constexpr (F == Binary::greater)
    return static_cast<uint8_t>(a > b);
  else if constexpr (F == Binary::greater_equal)
    return static_cast<uint8_t>(a >= b);
  else if constexpr (F == Binary::logical_and)
    return static_cast<uint8_t>((a != 0) & (b != 0));
  else
    return static_cast<uint8_t>((a != 0) | (b != 0));
}

template <Binary F, class T>
void run(const T *a, int64_t step_a, const T *b, int64_t step_b, void *out, int64_t n) {
  using R = decltype(value<F>(T{}, T{}));
  R *y = static_cast<R *>(out);
  if (step_a && step_b) {
    DL4_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = value<F>(a[i], b[i]);
  } else if (step_a) {
    const T v = *b;
    DL4_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = value<F>(a[i], v);
  } else if (step_b) {
    const T v = *a;
    DL4_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = value<F>(v, b[i]);
  } else {
    const R v = value<F>(*a, *b);
    for (int64_t i = 0; i < n; ++i) y[i] = v;
  }
}

template <class T, int I = 0>
void choose(Binary f, DType t, const void *a, int64_t step_a, const void *b, int64_t step_b, void *out, int64_t n) {
  if constexpr (I < static_cast<int>(Binary::count_)) {
    constexpr Binary F = static_cast<Binary>(I);
    constexpr DType type = std::is_same_v<T, float>     ? DType::f32
                           : std::is_same_v<T, int32_t> ? DType::i32
                           : std::is_same_v<T, int64_t> ? DType::i64
                                                        : DType::u8;
    constexpr bool exists = supports(F, type) || (type == DType::u8 && is_logical(F));
    if (f != F) return choose<T, I + 1>(f, t, a, step_a, b, step_b, out, n);
    if constexpr (exists) run<F>(static_cast<const T *>(a), step_a, static_cast<const T *>(b), step_b, out, n);
  }
}

}  // namespace

void binary_all(Binary f, DType t, const void *a, int64_t step_a, const void *b, int64_t step_b, void *out, int64_t n) {
  switch (t) {
    case DType::f32:
      return choose<float>(f, t, a, step_a, b, step_b, out, n);
    case DType::i32:
      return choose<int32_t>(f, t, a, step_a, b, step_b, out, n);
    case DType::i64:
      return choose<int64_t>(f, t, a, step_a, b, step_b, out, n);
    case DType::u8:
    case DType::boolean:
      return choose<uint8_t>(f, t, a, step_a, b, step_b, out, n);
    case DType::f64:
    case DType::string:
      return;
  }
}

void axpy_all(float s, const float *x, float *y, int64_t n) {
  const V a = set(s);
  map(x, y, y, n, [=](V v, V w) HWY_ATTR { return hn::MulAdd(a, v, w); });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(binary_all);
HWY_EXPORT(axpy_all);

void binary_run(Binary f, DType t, const void *a, int64_t step_a, const void *b, int64_t step_b, void *out,
                int64_t n) noexcept {
  if (n > 0) HWY_DYNAMIC_DISPATCH(binary_all)(f, t, a, step_a, b, step_b, out, n);
}
void axpy(float a, const float *x, float *y, int64_t n) noexcept { HWY_DYNAMIC_DISPATCH(axpy_all)(a, x, y, n); }

}  // namespace dl4::kernels
#endif
