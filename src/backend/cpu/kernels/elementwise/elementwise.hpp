// One value in, one value out: functions of one and of two operands, choices and conversions. Any pointers may be
// unaligned.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/dtype.hpp"

namespace dl4::kernels {

// p0, p1, p2: the parameters, where there are any. Activations have Keras's formulas and names.
enum class Unary : int32_t {
  neg,
  abs,
  sign,
  square,
  sqrt,
  rsqrt,
  exp,
  log,
  log1p,
  expm1,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  erfinv,
  cbrt,
  floor,
  ceil,
  round,  // of two nearest the even one
  relu,
  relu6,
  leaky_relu,    // p0 = slope
  relu_general,  // p0 = negative_slope, p1 = max_value or infinity, p2 = threshold
  elu,           // p0 = alpha
  selu,
  celu,  // p0 = alpha
  sigmoid,
  log_sigmoid,
  tanh,
  softplus,
  softsign,
  gelu,
  gelu_tanh,
  silu,
  mish,
  hard_sigmoid,     // relu6(x + 3) / 6
  hard_sigmoid_v1,  // clip(0.2 x + 0.5, 0, 1): Keras 1 and 2
  hard_silu,
  hard_tanh,
  tanh_shrink,
  hard_shrink,  // p0 = threshold
  soft_shrink,  // p0 = threshold
  threshold,    // p0 = threshold, p1 = value where x <= p0
  squareplus,   // p0 = b
  sparse_plus,
  sparse_sigmoid,
  clip,         // p0 = low, p1 = high
  scale_shift,  // p0 x + p1
  count_
};

// Which argument unary_grad wants besides dy.
enum class GradFrom : int32_t { input, output };

struct UnaryInfo {
  std::string_view name;
  GradFrom grad;  // see also grad_from
  int params = 0;
};

inline constexpr std::array<UnaryInfo, static_cast<size_t>(Unary::count_)> unary_table{{
    {"neg", GradFrom::output},
    {"abs", GradFrom::input},
    {"sign", GradFrom::output},
    {"square", GradFrom::input},
    {"sqrt", GradFrom::output},
    {"rsqrt", GradFrom::output},
    {"exp", GradFrom::output},
    {"log", GradFrom::input},
    {"log1p", GradFrom::input},
    {"expm1", GradFrom::output},
    {"sin", GradFrom::input},
    {"cos", GradFrom::input},
    {"tan", GradFrom::output},
    {"asin", GradFrom::input},
    {"acos", GradFrom::input},
    {"atan", GradFrom::input},
    {"sinh", GradFrom::input},
    {"cosh", GradFrom::input},
    {"asinh", GradFrom::input},
    {"acosh", GradFrom::input},
    {"atanh", GradFrom::input},
    {"erf", GradFrom::input},
    {"erfc", GradFrom::input},
    {"erfinv", GradFrom::output},
    {"cbrt", GradFrom::output},
    {"floor", GradFrom::output},
    {"ceil", GradFrom::output},
    {"round", GradFrom::output},
    {"relu", GradFrom::output},
    {"relu6", GradFrom::output},
    {"leaky_relu", GradFrom::output, 1},
    {"relu_general", GradFrom::input, 3},
    {"elu", GradFrom::output, 1},
    {"selu", GradFrom::output},
    {"celu", GradFrom::input, 1},
    {"sigmoid", GradFrom::output},
    {"log_sigmoid", GradFrom::output},
    {"tanh", GradFrom::output},
    {"softplus", GradFrom::output},
    {"softsign", GradFrom::input},
    {"gelu", GradFrom::input},
    {"gelu_tanh", GradFrom::input},
    {"silu", GradFrom::input},
    {"mish", GradFrom::input},
    {"hard_sigmoid", GradFrom::output},
    {"hard_sigmoid_v1", GradFrom::input},
    {"hard_silu", GradFrom::input},
    {"hard_tanh", GradFrom::input},
    {"tanh_shrink", GradFrom::input},
    {"hard_shrink", GradFrom::input, 1},
    {"soft_shrink", GradFrom::input, 1},
    {"threshold", GradFrom::input, 2},
    {"squareplus", GradFrom::input, 1},
    {"sparse_plus", GradFrom::input},
    {"sparse_sigmoid", GradFrom::input},
    {"clip", GradFrom::input, 2},
    {"scale_shift", GradFrom::output, 2},
}};

constexpr const UnaryInfo &info(Unary f) { return unary_table[static_cast<size_t>(f)]; }
inline std::string to_string(Unary f) { return std::string(info(f).name); }

// The argument that unary_grad wants with these parameters: a slope or alpha that is not above 0 hides the input's
// sign.
constexpr GradFrom grad_from(Unary f, const float *params) {
  if ((f == Unary::leaky_relu || f == Unary::elu) && !(params[0] > 0)) return GradFrom::input;
  return info(f).grad;
}

// params: three floats, or nullptr where the function has none. y may be x.
void unary(Unary f, const float *params, const float *x, float *y, int64_t n) noexcept;
// In place, rows x cols floats, the rows ld apart.
void unary_rows(Unary f, const float *params, float *x, int64_t rows, int64_t cols, int64_t ld) noexcept;
// dx = dy * f'. x_or_y: by grad_from. dx may be dy or x_or_y. Kinks as TensorFlow does: relu'(0) = 0.
void unary_grad(Unary f, const float *params, const float *dy, const float *x_or_y, float *dx, int64_t n) noexcept;

enum class Binary : int32_t {
  add,
  sub,
  mul,
  div,
  max,
  min,
  pow,
  atan2,
  squared_difference,
  mod,   // of the sign of b, as NumPy's; of integers 0 where b is
  fmod,  // of the sign of a; f32; add sub mul max min mod fmod: i32, i64 too
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,  // f32, i32, i64, u8, bool -> bool
  logical_and,
  logical_or,   // bool
  floor_div,    // f32, i32, i64; of integers 0 where b is 0
  bitwise_and,  // i32, i64, u8, bool
  bitwise_or,
  bitwise_xor,
  left_shift,  // i32, i64, u8; by less than 0 or as many bits as there are: what is left, 0 or the sign
  right_shift,
  count_
};

inline constexpr std::array<std::string_view, static_cast<size_t>(Binary::count_)> binary_names{
    "add",        "sub",           "mul",
    "div",        "max",           "min",
    "pow",        "atan2",         "squared_difference",
    "mod",        "fmod",          "equal",
    "not_equal",  "less",          "less_equal",
    "greater",    "greater_equal", "logical_and",
    "logical_or", "floor_div",     "bitwise_and",
    "bitwise_or", "bitwise_xor",   "left_shift",
    "right_shift"};

inline std::string to_string(Binary f) { return std::string(binary_names[static_cast<size_t>(f)]); }

constexpr bool is_comparison(Binary f) { return f >= Binary::equal && f <= Binary::greater_equal; }
constexpr bool is_logical(Binary f) { return f >= Binary::logical_and && f <= Binary::logical_or; }

constexpr bool is_bitwise(Binary f) { return f >= Binary::bitwise_and; }

// Is there an inner loop for these operands?
constexpr bool supports(Binary f, DType t) {
  const bool wide = t == DType::i32 || t == DType::i64;
  if (is_logical(f)) return t == DType::boolean;
  if (is_comparison(f)) return t != DType::f64;
  if (is_bitwise(f)) return wide || t == DType::u8 || (t == DType::boolean && f <= Binary::bitwise_xor);
  if (t == DType::f32) return true;
  return wide && f != Binary::div && f != Binary::pow && f != Binary::atan2 && f != Binary::squared_difference;
}
constexpr DType result_type(Binary f, DType t) { return is_comparison(f) || is_logical(f) ? DType::boolean : t; }

// One innermost run of a broadcast: steps are 0 (one value for all) or 1. out may be a or b where that one's step is 1
// and its elements have the size of out's. max and min of a NaN are NaN. Integers wrap.
void binary_run(Binary f, DType t, const void *a, int64_t step_a, const void *b, int64_t step_b, void *out,
                int64_t n) noexcept;

// a where the mask byte is not 0, else b; `size` bytes an element (1, 4 or 8); steps 0 or 1.
void select_run(int64_t size, const uint8_t *mask, int64_t step_mask, const void *a, int64_t step_a, const void *b,
                int64_t step_b, void *out, int64_t n) noexcept;

// Between any two of f32, i32, i64, u8, bool. Float to integer truncates and saturates, NaN gives 0; integer to a
// narrower one saturates; anything but 0 is true.
void cast_run(DType from, DType to, const void *x, void *y, int64_t n) noexcept;

// Copies of the `size` bytes (1, 4 or 8) at value, to any address.
void fill(int64_t size, const void *value, void *y, int64_t n) noexcept;

// y += a * x.
void axpy(float a, const float *x, float *y, int64_t n) noexcept;

}  // namespace dl4::kernels
