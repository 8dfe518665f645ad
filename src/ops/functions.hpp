// The functions that ops compute, by name: unary, binary, reductions. Backends implement them.
#pragma once

#include <array>
#include <optional>

#include "base/dtype.hpp"

namespace dl4::ops {

// The argument that unary_grad needs besides dy (see also grad_from), and the number of parameters p0, p1, p2.
// Activations have Keras's formulas and names.
#define DL4_UNARY(X)                                                                              \
  X(neg, output, 0)                                                                               \
  X(abs, input, 0)                                                                                \
  X(sign, output, 0)                                                                              \
  X(square, input, 0)                                                                             \
  X(sqrt, output, 0)                                                                              \
  X(rsqrt, output, 0)                                                                             \
  X(exp, output, 0)                                                                               \
  X(log, input, 0)                                                                                \
  X(log1p, input, 0)                                                                              \
  X(expm1, output, 0)                                                                             \
  X(sin, input, 0)                                                                                \
  X(cos, input, 0)                                                                                \
  X(tan, output, 0)                                                                               \
  X(asin, input, 0)                                                                               \
  X(acos, input, 0)                                                                               \
  X(atan, input, 0)                                                                               \
  X(sinh, input, 0)                                                                               \
  X(cosh, input, 0)                                                                               \
  X(asinh, input, 0)                                                                              \
  X(acosh, input, 0)                                                                              \
  X(atanh, input, 0)                                                                              \
  X(erf, input, 0)                                                                                \
  X(erfc, input, 0)                                                                               \
  X(erfinv, output, 0)                                                                            \
  X(cbrt, output, 0)                                                                              \
  X(floor, output, 0)                                                                             \
  X(ceil, output, 0)                                                                              \
  X(round, output, 0) /* ties to even */                                                          \
  X(relu, output, 0)                                                                              \
  X(relu6, output, 0)                                                                             \
  X(leaky_relu, output, 1)  /* p0 = slope */                                                      \
  X(relu_general, input, 3) /* p0 = negative_slope, p1 = max_value or infinity, p2 = threshold */ \
  X(elu, output, 1)         /* p0 = alpha */                                                      \
  X(selu, output, 0)                                                                              \
  X(celu, input, 1) /* p0 = alpha */                                                              \
  X(sigmoid, output, 0)                                                                           \
  X(log_sigmoid, output, 0)                                                                       \
  X(tanh, output, 0)                                                                              \
  X(softplus, output, 0)                                                                          \
  X(softsign, input, 0)                                                                           \
  X(gelu, input, 0)                                                                               \
  X(gelu_tanh, input, 0)                                                                          \
  X(silu, input, 0)                                                                               \
  X(mish, input, 0)                                                                               \
  X(hard_sigmoid, output, 0)   /* relu6(x + 3) / 6 */                                             \
  X(hard_sigmoid_v1, input, 0) /* clip(0.2 x + 0.5, 0, 1): Keras 1 and 2 */                       \
  X(hard_silu, input, 0)                                                                          \
  X(hard_tanh, input, 0)                                                                          \
  X(tanh_shrink, input, 0)                                                                        \
  X(hard_shrink, input, 1) /* p0 = threshold */                                                   \
  X(soft_shrink, input, 1) /* p0 = threshold */                                                   \
  X(threshold, input, 2)   /* p0 = threshold, p1 = value where x <= p0 */                         \
  X(squareplus, input, 1)  /* p0 = b */                                                           \
  X(sparse_plus, input, 0)                                                                        \
  X(sparse_sigmoid, input, 0)                                                                     \
  X(clip, input, 2)         /* p0 = low, p1 = high */                                             \
  X(scale_shift, output, 2) /* p0 x + p1 */

#define DL4_NAME(name, grad, params) name,
enum class Unary : int32_t { DL4_UNARY(DL4_NAME) count_ };
#undef DL4_NAME

enum class GradFrom : int32_t { input, output };

struct UnaryInfo {
  std::string_view name;
  GradFrom grad;
  int params;
};

#define DL4_ROW(name, grad, params) {#name, GradFrom::grad, params},
inline constexpr auto unary_table = std::to_array<UnaryInfo>({DL4_UNARY(DL4_ROW)});
#undef DL4_ROW

constexpr const UnaryInfo &info(Unary f) { return unary_table[static_cast<size_t>(f)]; }
inline std::string to_string(Unary f) { return std::string(info(f).name); }

// The argument that unary_grad needs with these parameters: the output hides the input's sign if a slope or alpha is
// not positive.
constexpr GradFrom grad_from(Unary f, const float *params) {
  if ((f == Unary::leaky_relu || f == Unary::elu) && !(params[0] > 0)) return GradFrom::input;
  return info(f).grad;
}

#define DL4_BINARY(X)                                                                    \
  X(add)                                                                                 \
  X(sub)                                                                                 \
  X(mul)                                                                                 \
  X(div)                                                                                 \
  X(max)                                                                                 \
  X(min)                                                                                 \
  X(pow)                                                                                 \
  X(atan2)                                                                               \
  X(squared_difference)                                                                  \
  X(mod)  /* sign of b, as in NumPy; for integers 0 if b is 0 */                         \
  X(fmod) /* sign of a; f32; add sub mul max min mod fmod: also i32, i64 */              \
  X(equal)                                                                               \
  X(not_equal)                                                                           \
  X(less)                                                                                \
  X(less_equal)                                                                          \
  X(greater)                                                                             \
  X(greater_equal) /* f32, i32, i64, u8, bool -> bool */                                 \
  X(logical_and)                                                                         \
  X(logical_or)  /* bool */                                                              \
  X(floor_div)   /* f32, i32, i64; for integers 0 if b is 0 */                           \
  X(bitwise_and) /* i32, i64, u8, bool */                                                \
  X(bitwise_or)                                                                          \
  X(bitwise_xor)                                                                         \
  X(left_shift) /* i32, i64, u8; shifts below 0 or past the width give 0, or the sign */ \
  X(right_shift)

#define DL4_NAME(name) name,
enum class Binary : int32_t { DL4_BINARY(DL4_NAME) count_ };
#undef DL4_NAME

#define DL4_ROW(name) #name,
inline constexpr std::string_view binary_names[] = {DL4_BINARY(DL4_ROW)};
#undef DL4_ROW

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
