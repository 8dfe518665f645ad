#include "io/onnx/types.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.hpp"

namespace dl4::io::onnx {
namespace {

constexpr SmallFloat small_floats[] = {
    {Type::float16, 5, 10, 15, 65504, true, true},   {Type::bfloat16, 8, 7, 127, 0x1.fep127f, true, true},
    {Type::float8e4m3fn, 4, 3, 7, 448, false, true}, {Type::float8e4m3fnuz, 4, 3, 8, 240, false, true, true},
    {Type::float8e5m2, 5, 2, 15, 57344, true, true}, {Type::float8e5m2fnuz, 5, 2, 16, 57344, false, true, true},
    {Type::float4e2m1, 2, 1, 1, 6, false, false},
};

enum class Sign { none, natural, integer };  // of integers alone

struct TypeRow {
  const char *name;
  int bits;
  Sign sign;
  std::optional<DType> dtype;
};
// By the type's number.
constexpr TypeRow types[] = {
    {"none", 32, Sign::none, {}},
    {"float", 32, Sign::none, DType::f32},
    {"uint8", 8, Sign::natural, DType::u8},
    {"int8", 8, Sign::integer, DType::i32},
    {"uint16", 16, Sign::natural, DType::i32},
    {"int16", 16, Sign::integer, DType::i32},
    {"int32", 32, Sign::integer, DType::i32},
    {"int64", 64, Sign::integer, DType::i64},
    {"string", 32, Sign::none, DType::string},
    {"bool", 8, Sign::none, DType::boolean},
    {"float16", 16, Sign::none, DType::f32},
    {"double", 64, Sign::none, DType::f32},
    {"uint32", 32, Sign::natural, DType::i64},
    {"uint64", 64, Sign::natural, DType::i64},
    {"complex64", 64, Sign::none, {}},
    {"complex128", 128, Sign::none, {}},
    {"bfloat16", 16, Sign::none, DType::f32},
    {"float8e4m3fn", 8, Sign::none, DType::f32},
    {"float8e4m3fnuz", 8, Sign::none, DType::f32},
    {"float8e5m2", 8, Sign::none, DType::f32},
    {"float8e5m2fnuz", 8, Sign::none, DType::f32},
    {"uint4", 4, Sign::natural, DType::i32},
    {"int4", 4, Sign::integer, DType::i32},
    {"float4e2m1", 4, Sign::none, DType::f32},
    {"float8e8m0", 8, Sign::none, {}},
    {"uint2", 2, Sign::natural, DType::i32},
    {"int2", 2, Sign::integer, DType::i32},
};
bool is_known(Type t) { return t >= Type::none && static_cast<int64_t>(t) < std::ssize(types); }
const TypeRow &row_of(Type t) { return types[is_known(t) ? static_cast<int64_t>(t) : 0]; }

}  // namespace

std::string to_string(Type t) { return is_known(t) ? row_of(t).name : text("type ", static_cast<int64_t>(t)); }

DType stands_for(Type t) {
  if (const auto dtype = row_of(t).dtype) return *dtype;
  throw Error(Code::unsupported, text("data of type ", t, " is not supported")).with("got", to_string(t));
}

int bits_of(Type t) { return row_of(t).bits; }
bool is_signed(Type t) { return row_of(t).sign == Sign::integer; }
bool is_integer(Type t) { return row_of(t).sign != Sign::none; }

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

int64_t wrapped(Type type, int64_t n) {
  const int gone = 64 - bits_of(type);
  const uint64_t top = static_cast<uint64_t>(n) << gone;
  return is_signed(type) ? static_cast<int64_t>(top) >> gone : static_cast<int64_t>(top >> gone);
}

}  // namespace dl4::io::onnx
