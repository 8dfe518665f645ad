#include "io/onnx/types.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dl4::io::onnx {
namespace {

constexpr SmallFloat small_floats[] = {
    {Type::float16, 5, 10, 15, 65504, true, true},   {Type::bfloat16, 8, 7, 127, 0x1.fep127f, true, true},
    {Type::float8e4m3fn, 4, 3, 7, 448, false, true}, {Type::float8e4m3fnuz, 4, 3, 8, 240, false, true, true},
    {Type::float8e5m2, 5, 2, 15, 57344, true, true}, {Type::float8e5m2fnuz, 5, 2, 16, 57344, false, true, true},
    {Type::float4e2m1, 2, 1, 1, 6, false, false},
};

}  // namespace

const SmallFloat *small_float(Type type) {
  const auto it = std::ranges::find(small_floats, type, &SmallFloat::type);
  return it == std::end(small_floats) ? nullptr : &*it;
}

float decoded(const SmallFloat &f, uint64_t code) {
  const uint64_t sign = code >> (f.exponent_bits + f.mantissa_bits) & 1;
  const uint64_t exponent = code >> f.mantissa_bits & ((uint64_t{1} << f.exponent_bits) - 1);
  const uint64_t mantissa = code & ((uint64_t{1} << f.mantissa_bits) - 1);
  const bool top = exponent + 1 == uint64_t{1} << f.exponent_bits;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  if (f.one_zero && sign && exponent == 0 && mantissa == 0) return nan;
  if (f.has_infinity && top) return mantissa ? nan : sign ? -infinity : infinity;
  const double whole = static_cast<double>(mantissa) + (exponent ? std::ldexp(1.0, f.mantissa_bits) : 0);
  const int power = static_cast<int>(std::max<uint64_t>(exponent, 1)) - f.bias - f.mantissa_bits;
  const auto v = static_cast<float>(std::ldexp(whole, power));
  if (v > f.largest) return nan;  // e4m3fn, whose top exponent has numbers too
  return sign ? -v : v;
}

float nearest(const SmallFloat &f, float x, bool saturate) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (std::isnan(x)) return f.has_nan ? x : 0;
  float near = x;
  if (std::isfinite(x)) {
    int exponent = 0;
    std::frexp(x, &exponent);
    const int power = std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;
    near = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(x), -power)), power));
  }
  if (std::abs(near) > f.largest) {
    if (saturate || !f.has_nan) return std::copysign(f.largest, x);
    return f.has_infinity ? std::copysign(std::numeric_limits<float>::infinity(), x) : nan;
  }
  return f.one_zero && near == 0 ? 0 : near;
}

int bits_of(Type type) {
  switch (type) {
    case Type::uint2:
    case Type::int2:
      return 2;
    case Type::uint4:
    case Type::int4:
    case Type::float4e2m1:
      return 4;
    case Type::uint8:
    case Type::int8:
    case Type::boolean:
    case Type::float8e4m3fn:
    case Type::float8e4m3fnuz:
    case Type::float8e5m2:
    case Type::float8e5m2fnuz:
    case Type::float8e8m0:
      return 8;
    case Type::uint16:
    case Type::int16:
    case Type::float16:
    case Type::bfloat16:
      return 16;
    case Type::int64:
    case Type::uint64:
    case Type::float64:
      return 64;
    default:
      return 32;
  }
}

bool is_signed(Type type) {
  constexpr Type all[] = {Type::int2, Type::int4, Type::int8, Type::int16, Type::int32, Type::int64};
  return std::ranges::find(all, type) != std::end(all);
}
bool is_integer(Type type) {
  constexpr Type all[] = {Type::uint2, Type::uint4, Type::uint8, Type::uint16, Type::uint32, Type::uint64};
  return is_signed(type) || std::ranges::find(all, type) != std::end(all);
}

int64_t wrapped(Type type, int64_t n) {
  const int gone = 64 - bits_of(type);
  const uint64_t top = static_cast<uint64_t>(n) << gone;
  return is_signed(type) ? static_cast<int64_t>(top) >> gone : static_cast<int64_t>(top >> gone);
}

}  // namespace dl4::io::onnx
