// The functions that ops compute, by name: unary, binary, reductions. Backends implement them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.hpp"

namespace dl4::ops {

// p0, p1, p2: parameters, if any. Activations have Keras's formulas and names.
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
  round,  // ties to even
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

// Which argument unary_grad needs besides dy.
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

// The argument that unary_grad needs with these parameters: the output hides the input's sign if a slope or alpha is
// not positive.
constexpr GradFrom grad_from(Unary f, const float *params) {
  if ((f == Unary::leaky_relu || f == Unary::elu) && !(params[0] > 0)) return GradFrom::input;
  return info(f).grad;
}

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
  mod,   // sign of b, as in NumPy; for integers 0 if b is 0
  fmod,  // sign of a; f32; add sub mul max min mod fmod: also i32, i64
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,  // f32, i32, i64, u8, bool -> bool
  logical_and,
  logical_or,   // bool
  floor_div,    // f32, i32, i64; for integers 0 if b is 0
  bitwise_and,  // i32, i64, u8, bool
  bitwise_or,
  bitwise_xor,
  left_shift,  // i32, i64, u8; shifts below 0 or past the width give 0, or the sign
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

// Whether an inner loop exists for these operands.
constexpr bool supports(Binary f, DType t) {
  const bool wide = t == DType::i32 || t == DType::i64;
  if (is_logical(f)) return t == DType::boolean;
  if (is_comparison(f)) return t != DType::f64;
  if (is_bitwise(f)) return wide || t == DType::u8 || (t == DType::boolean && f <= Binary::bitwise_xor);
  if (t == DType::f32) return true;
  return wide && f != Binary::div && f != Binary::pow && f != Binary::atan2 && f != Binary::squared_difference;
}
constexpr DType result_type(Binary f, DType t) { return is_comparison(f) || is_logical(f) ? DType::boolean : t; }

enum class Reduce : int32_t { sum, mean, max, min, prod, sum_squares, sum_abs };
inline std::string to_string(Reduce f) {
  constexpr const char *words[] = {"sum", "mean", "max", "min", "prod", "sum_squares", "sum_abs"};
  return words[static_cast<size_t>(f)];
}

struct Cumulate {
  bool product = false;
  bool exclusive = false;  // excludes the element itself: starts at 0, or 1
  bool reverse = false;    // from the end
};

// Non-maximum suppression: keeps at most so many boxes with scores above `least`, by descending score, none of which
// overlaps a kept one by more than this intersection over union.
struct Suppression {
  int64_t most = 0;
  float overlap = 0;
  std::optional<float> least = {};
  bool centres = false;  // boxes are (x, y, w, h) with their centre, not two corners (y, x, y, x)
};

}  // namespace dl4::ops
