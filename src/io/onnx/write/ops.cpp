// Writes single-step ops: functions, shapes, reductions.
#include <cmath>
#include <numbers>

#include "io/onnx/reader.hpp"
#include "io/onnx/write/writer.hpp"
#include "kinds/layers/elementwise/functions.hpp"
#include "ops/matched.hpp"

namespace dl4::io::onnx {
namespace {

using ops::Binary;
using ops::Unary;

constexpr float most = std::numeric_limits<float>::max();

Name clipped(Writer &w, Name x, double low, double high) {
  return w.node("Clip", {x, low > -static_cast<double>(most) ? w.real(low) : Name(),
                         high < static_cast<double>(most) ? w.real(high) : Name()});
}

// max_value where x >= max_value, x from the threshold on, else slope (x - threshold).
Name general_relu(Writer &w, Name x, const std::array<float, 3> &p) {
  const Name threshold = w.real(static_cast<double>(p[2]));
  const Name low = w.node("Mul", {w.node("Sub", {x, threshold}), w.real(static_cast<double>(p[0]))});
  const Name y = w.node("Where", {w.node("Less", {x, threshold}), low, x});
  return p[1] < most ? w.node("Min", {y, w.real(static_cast<double>(p[1]))}) : y;
}

// e^x - 1 without cancellation.
Name expm1(Writer &w, Name x) {
  const Name half = w.node("Tanh", {w.node("Mul", {x, w.real(0.5)})});
  return w.node("Mul", {half, w.node("Add", {w.node("Exp", {x}), w.real(1)})});
}

// log(x + 1) corrected for the rounding of x + 1. Where nothing is lost it is unchanged, as at -1 and the infinities.
Name log1p(Writer &w, Name x) {
  const Name sum = w.node("Add", {x, w.real(1)}), back = w.node("Sub", {sum, w.real(1)});
  const Name log = w.node("Log", {sum}), lost = w.node("Sub", {x, back});
  return w.node("Where", {w.node("Equal", {x, back}), log, w.node("Add", {log, w.node("Div", {lost, sum})})});
}

Name squareplus(Writer &w, Name x, double b) {
  const Name root = w.node("Sqrt", {w.node("Add", {w.node("Mul", {x, x}), w.real(b)})});
  return w.node("Mul", {w.node("Add", {x, root}), w.real(0.5)});
}

Name sparse_plus(Writer &w, Name x) {
  const Name one = w.node("Add", {x, w.real(1)});
  const Name middle = w.node("Mul", {w.node("Mul", {one, one}), w.real(0.25)});
  const Name low = w.node("Where", {w.node("Less", {x, w.real(-1)}), w.real(0), middle});
  return w.node("Where", {w.node("Greater", {x, w.real(1)}), x, low});
}

Name composed(Writer &w, const ops::Function &function, Name x) {
  const auto p = [&](size_t i) { return static_cast<double>(function.param[i]); };
  const auto number = [&](size_t i) { return w.real(p(i)); };
  switch (function.f) {
    case Unary::square:
      return w.node("Mul", {x, x});
    case Unary::rsqrt:
      return w.node("Reciprocal", {w.node("Sqrt", {x})});
    case Unary::cbrt:
      return w.node("Mul", {w.node("Sign", {x}), w.node("Pow", {w.node("Abs", {x}), w.real(1.0 / 3)})});
    case Unary::erfc:
      return w.node("Sub", {w.real(1), w.node("Erf", {x})});
    case Unary::log1p:
      return log1p(w, x);
    case Unary::expm1:
      return expm1(w, x);
    case Unary::relu6:
      return clipped(w, x, 0, 6);
    case Unary::leaky_relu:
      return w.node("LeakyRelu", {x}, {{"alpha", function.param[0]}});
    case Unary::relu_general:
      return general_relu(w, x, function.param);
    case Unary::elu:
      return w.node("Elu", {x}, {{"alpha", function.param[0]}});
    case Unary::celu:
      return w.node("Celu", {x}, {{"alpha", function.param[0]}});
    case Unary::log_sigmoid:
      return w.node("Neg", {w.node("Softplus", {w.node("Neg", {x})})});
    case Unary::gelu_tanh:
      return w.node("Gelu", {x}, {{"approximate", "tanh"}});
    case Unary::silu:
      return w.node("Mul", {x, w.node("Sigmoid", {x})});
    case Unary::hard_sigmoid:
      return w.node("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
    case Unary::hard_sigmoid_v1:
      return w.node("HardSigmoid", {x}, {{"alpha", 0.2f}, {"beta", 0.5f}});
    case Unary::hard_tanh:
      return clipped(w, x, -1, 1);
    case Unary::tanh_shrink:
      return w.node("Sub", {x, w.node("Tanh", {x})});
    case Unary::hard_shrink:
      return w.node("Shrink", {x}, {{"lambd", function.param[0]}, {"bias", 0.0f}});
    case Unary::soft_shrink:
      return w.node("Shrink", {x}, {{"lambd", function.param[0]}, {"bias", function.param[0]}});
    case Unary::threshold:
      return w.node("Where", {w.node("Greater", {x, number(0)}), x, number(1)});
    case Unary::squareplus:
      return squareplus(w, x, p(0));
    case Unary::sparse_plus:
      return sparse_plus(w, x);
    case Unary::sparse_sigmoid:
      return clipped(w, w.node("Mul", {w.node("Add", {x, w.real(1)}), w.real(0.5)}), 0, 1);
    case Unary::clip:
      return clipped(w, x, p(0), p(1));
    case Unary::scale_shift:
      return w.node("Add", {w.node("Mul", {x, number(0)}), number(1)});
    default:
      w.refuse(text("it computes \"", to_string(function), "\", which ONNX has no op for"));
  }
}

void unary(Writer &w, const Listed &) {
  const ops::Function &function = ops::as<ops::UnaryOp>(w.now())->function;
  const std::string same(kinds::onnx_op(function.f));
  w.give(0, same.empty() ? composed(w, function, w.in(0)) : w.node(same.c_str(), {w.in(0)}));
}

// The angle of the point (x, y): that of its slope, or half a turn from it. Infinities are replaced by large numbers.
Name atan2(Writer &w, const Names &in) {
  const Name y = clipped(w, in[0], -3e38, 3e38), x = clipped(w, in[1], -3e38, 3e38), zero = w.real(0);
  const Name none = w.node("And", {w.node("Equal", {x, zero}), w.node("Equal", {y, zero})});
  const Name slope = w.node("Div", {y, w.node("Where", {none, w.real(1), x})});
  constexpr double pi = 3.14159265358979324;
  const Name turn = w.node("Where", {w.node("Less", {y, zero}), w.real(-pi), w.real(pi)});
  return w.node("Add", {w.node("Atan", {slope}), w.node("Where", {w.node("Less", {x, zero}), turn, zero})});
}

// For integers ONNX's Mod; for floats ONNX only has the variant with the sign of a.
Name mod(Writer &w, const Names &in) {
  if (w.dtype(0) != DType::f32) return w.node("Mod", in);
  const Name rest = w.node("Mod", in, {{"fmod", int64_t{1}}}), zero = w.real(0);
  const Name unlike = w.node("Xor", {w.node("Less", {rest, zero}), w.node("Less", {in[1], zero})});
  const Name some = w.node("Not", {w.node("Equal", {rest, zero})});
  return w.node("Where", {w.node("And", {some, unlike}), w.node("Add", {rest, in[1]}), rest});
}

// ONNX shifts only unsigned integers: multiplies to the left, and divides by a power of 2, rounding down, to the right.
Name shifted(Writer &w, const Names &in, bool left) {
  const DType type = w.dtype(0);
  if (type == DType::u8) return w.node("BitShift", in, {{"direction", left ? "LEFT" : "RIGHT"}});
  const auto number = [&](int64_t v) { return w.tensor(tensor_of({v}, type, {})); };
  // The last of these powers is positive for a division. Larger and negative shifts give 0 or the sign.
  const int64_t last = 8 * size_of(type) - (left ? 1 : 2);
  Ints powers;
  for (int64_t i = 0; i <= last; ++i) powers.push_back(static_cast<int64_t>(uint64_t{1} << i));
  const Name none = number(0), most = number(last);
  const Name some = w.node("And", {w.node("GreaterOrEqual", {in[1], none}), w.node("LessOrEqual", {in[1], most})});
  const Name places = w.node("Max", {w.node("Min", {in[1], most}), none});
  const Name power = w.node("Gather", {w.tensor(tensor_of(powers, type, {last + 1})), places});
  if (left) return w.node("Where", {some, w.node("Mul", {in[0], power}), none});
  const Name down = w.node("Div", {w.node("Sub", {in[0], w.node("Mod", {in[0], power})}), power});
  return w.node("Where", {some, down, w.node("Where", {w.node("Less", {in[0], none}), number(-1), none})});
}

void binary(Writer &w, const Listed &) {
  const Binary f = ops::as<ops::BinaryOp>(w.now())->f;
  const DType type = w.dtype(0);
  Names in{w.in(0), w.in(1)};
  if (f == Binary::squared_difference) {
    const Name d = w.node("Sub", in);
    return w.give(0, w.node("Mul", {d, d}));
  }
  if (f == Binary::atan2) return w.give(0, atan2(w, in));
  if (f == Binary::mod) return w.give(0, mod(w, in));
  if (f == Binary::left_shift || f == Binary::right_shift) return w.give(0, shifted(w, in, f == Binary::left_shift));
  if (f == Binary::fmod) return w.give(0, w.node("Mod", in, {{"fmod", int64_t{1}}}));
  if (f == Binary::floor_div)
    return w.give(0, type == DType::f32 ? w.node("Floor", {w.node("Div", in)})
                                        : w.node("Div", {w.node("Sub", {in[0], w.node("Mod", in)}), in[1]}));
  if (type == DType::boolean && ops::is_bitwise(f)) {
    constexpr const char *flags[] = {"And", "Or", "Xor"};
    return w.give(0, w.node(flags[static_cast<int>(f) - static_cast<int>(Binary::bitwise_and)], in));
  }
  const std::string name(kinds::onnx_op(f == Binary::not_equal ? Binary::equal : f));
  if (name.empty()) w.refuse(text("it computes \"", to_string(f), "\", which ONNX has no op for"));
  // ONNX Runtime compares only numbers of 32 bits and more.
  if (ops::is_comparison(f) && (type == DType::u8 || type == DType::boolean))
    for (Name &x : in) x = w.cast(x, DType::i32);
  const Name y = w.node(name.c_str(), in);
  w.give(0, f == Binary::not_equal ? w.node("Not", {y}) : y);
}

void select(Writer &w, const Listed &) {
  if (w.dtype(1) != DType::boolean) return w.give(0, w.node("Where", {w.in(0), w.in(1), w.in(2)}));
  const Names as_numbers{w.in(0), w.cast(w.in(1), DType::i32), w.cast(w.in(2), DType::i32)};
  w.give(0, w.cast(w.node("Where", as_numbers), DType::boolean));
}

void cast(Writer &w, const Listed &said) { w.give(0, w.cast(w.in(0), dtype_from(said.word()))); }
// In steps relative to the largest power of 2 in a number, which is exact in float32. The logarithm may be off by one,
// so it is checked.
Name rounded_in_steps(Writer &w, int exponent_bits, int mantissa_bits) {
  const int span = 1 << (exponent_bits - 1);
  const double largest = std::ldexp(2 - std::ldexp(1.0, -mantissa_bits), span - 1);
  const Name x = w.in(0), two = w.real(2);
  const Name size = clipped(w, w.node("Abs", {x}), std::ldexp(1.0, 2 - span), std::ldexp(1.0, span));
  const Name by = w.node("Floor", {w.node("Div", {w.node("Log", {size}), w.real(std::numbers::ln2)})});
  Name power = w.node("Pow", {two, by}), twice = w.node("Mul", {power, two});
  power = w.node("Where", {w.node("GreaterOrEqual", {size, twice}), twice, power});
  power = w.node("Where", {w.node("Less", {size, power}), w.node("Div", {power, two}), power});
  const Name step = w.node("Mul", {power, w.real(std::ldexp(1.0, -mantissa_bits))});
  const Name y = w.node("Mul", {w.node("Round", {w.node("Div", {x, step})}), step});
  const Name past = w.node("Greater", {w.node("Abs", {y}), w.real(largest)});
  return w.node("Where", {past, w.node("Mul", {x, w.real(std::numeric_limits<double>::infinity())}), y});
}

void reduce_precision(Writer &w, const Listed &said) {
  const auto bits = std::pair(said.number("exponent_bits"), said.number("mantissa_bits"));
  const bool half = bits == std::pair<int64_t, int64_t>(5, 10);
  if (!half && bits.first < 8)
    return w.give(0, rounded_in_steps(w, static_cast<int>(bits.first), static_cast<int>(bits.second)));
  if (!half && bits != std::pair<int64_t, int64_t>(8, 7)) w.refuse("it rounds to floats that ONNX has no type for");
  const auto to = static_cast<int64_t>(half ? Type::float16 : Type::bfloat16);
  w.give(0, w.cast(w.node("Cast", {w.in(0)}, {{"to", to}}), DType::f32));
}
void as_it_is(Writer &w, const Listed &) { w.give(0, w.in(0)); }
void nothing(Writer &, const Listed &) {}

// ---- shapes --------------------------------------------------------------------------------------------------------

void fill(Writer &w, const Listed &said) {
  const Tensor one = scalar(said.real("v"), dtype_from(said.word()));
  const int64_t keep = said.number("keep");
  Names parts;
  if (keep > 0) parts.push_back(w.dims(w.in(0), 0, keep));
  parts.push_back(w.ints(said.numbers("tail")));
  w.give(0, w.node("Expand", {w.tensor(one), w.node("Concat", parts, {{"axis", 0}})}));
}

// ONNX Runtime can't expand bools.
Name expanded(Writer &w, Name x, DType type, Name shape) {
  if (type != DType::boolean) return w.node("Expand", {x, shape});
  return w.cast(w.node("Expand", {w.cast(x, DType::i32), shape}), DType::boolean);
}

// In the same shape, by ONNX Runtime's generator: other numbers for the same seed.
void random(Writer &w, const Listed &said, const char *op) {
  const int64_t keep = said.number("keep");
  Names parts;
  if (keep > 0) parts.push_back(w.dims(w.in(1), 0, keep));
  if (const Ints &tail = said.numbers("tail"); keep == 0 || !tail.empty()) parts.push_back(w.ints(tail));
  const Name shape = parts.size() == 1 ? parts[0] : w.node("Concat", parts, {{"axis", 0}});
  const uint64_t seed = std::strtoull(said.text("seed").c_str(), nullptr, 10);
  w.give(0, w.node(op, {w.node("ConstantOfShape", {shape})}, {{"seed", static_cast<float>(seed % (1 << 24))}}));
}
void random_uniform(Writer &w, const Listed &said) { random(w, said, "RandomUniformLike"); }
void random_normal(Writer &w, const Listed &said) { random(w, said, "RandomNormalLike"); }

void broadcast_like(Writer &w, const Listed &said) {
  if (said.flag("divided")) w.refuse("it is a gradient");
  w.give(0, expanded(w, w.in(0), w.dtype(0), w.node("Shape", {w.in(1)})));
}

void reshape(Writer &w, const Listed &said) {
  const int64_t keep = said.number("keep");
  const Ints &tail = said.numbers("tail");
  if (std::find(tail.begin(), tail.end(), 0) != tail.end()) {  // there 0 is a size, not a kept axis
    if (std::find(tail.begin(), tail.end(), -1) != tail.end()) w.refuse("it has an axis of 0 places and a free one");
    Names parts{w.ints(tail)};
    if (keep > 0) parts.insert(parts.begin(), w.dims(w.in(0), 0, keep));
    const Name shape = parts.size() == 1 ? parts[0] : w.node("Concat", parts, {{"axis", 0}});
    return w.give(0, w.node("Reshape", {w.in(0), shape}, {{"allowzero", 1}}));
  }
  Ints to(static_cast<size_t>(keep), 0);
  to.insert(to.end(), tail.begin(), tail.end());
  w.give(0, w.node("Reshape", {w.in(0), w.ints(to)}));
}
void reshape_like(Writer &w, const Listed &) { w.give(0, w.node("Reshape", {w.in(0), w.node("Shape", {w.in(1)})})); }
void expand_dims(Writer &w, const Listed &said) {
  w.give(0, w.node("Unsqueeze", {w.in(0), w.ints({said.number("axis")})}));
}
void squeeze(Writer &w, const Listed &said) { w.give(0, w.node("Squeeze", {w.in(0), w.ints({said.number("axis")})})); }
void transpose(Writer &w, const Listed &said) { w.give(0, w.transposed(w.in(0), said.numbers("perm"))); }

void concat(Writer &w, const Listed &said) {
  Names in;
  for (size_t i = 0; i < w.now().src.size(); ++i) in.push_back(w.in(i));
  w.give(0, w.node("Concat", in, {{"axis", said.number("axis")}}));
}

Name sliced(Writer &w, Name x, int64_t axis, int64_t begin, int64_t end) {
  return w.node("Slice", {x, w.ints({begin}), w.ints({end}), w.ints({axis})});
}

void slice(Writer &w, const Listed &said) {
  const int64_t begin = said.number("begin"), size = said.number("size");
  const bool to_end = size < 0 || (begin < 0 && begin + size == 0);
  w.give(0,
         sliced(w, w.in(0), said.number("axis"), begin, to_end ? std::numeric_limits<int64_t>::max() : begin + size));
}

void pad(Writer &w, const Listed &said) {
  const int64_t axis = said.number("axis"), before = said.number("before"), after = said.number("after");
  Name y = w.in(0);
  if (before < 0 || after < 0)
    y = sliced(w, y, axis, std::max<int64_t>(-before, 0), after < 0 ? after : std::numeric_limits<int64_t>::max());
  if (before > 0 || after > 0) {
    const auto rank = static_cast<size_t>(w.shape(0).rank());
    Ints pads(2 * rank, 0);
    pads[static_cast<size_t>(axis)] = std::max<int64_t>(before, 0);
    pads[rank + static_cast<size_t>(axis)] = std::max<int64_t>(after, 0);
    y = w.node("Pad", {y, w.ints(pads)});
  }
  w.give(0, y);
}

void repeat(Writer &w, const Listed &said) {
  const int64_t axis = said.number("axis"), times = said.number("times"), rank = w.shape(0).rank();
  if (!said.flag("linear")) return w.give(0, w.repeated(w.in(0), axis, rank, times));
  if (rank != 4 || (axis != 1 && axis != 2)) w.refuse(text("it blends places of axis ", axis));
  Tensor scales = make_tensor(DType::f32, {4});
  for (int64_t i = 0; i < 4; ++i) scales.as<float>()[i] = i == axis + 1 ? static_cast<float>(times) : 1;
  const Name x = w.transposed(w.in(0), {0, 3, 1, 2});
  const Name y = w.node("Resize", {x, {}, w.tensor(scales)}, {{"mode", "linear"}});
  w.give(0, w.transposed(y, {0, 2, 3, 1}));
}

void flip(Writer &w, const Listed &said) { w.give(0, w.reversed(w.in(0), said.number("axis"))); }
void indices(Writer &w, const Listed &said) { w.give(0, w.range_over(w.in(0), said.number("axis"))); }

// All of the last axis in order; stable.
void sort(Writer &w, const Listed &said) {
  const int64_t last = w.shape(0).rank() - 1;
  const Names y = w.nodes_of("TopK", {w.in(0), w.dims(w.in(0), last, last + 1)}, 2,
                             {{"axis", last}, {"largest", said.flag("descending") ? 1 : 0}});
  w.give(0, y[0]), w.give(1, w.cast(y[1], DType::i32));
}

void cumulate(Writer &w, const Listed &said) {
  if (said.flag("product")) return write_products(w, said);
  w.give(0, w.node("CumSum", {w.in(0), w.ints({said.number("axis")}, true)},
                   {{"exclusive", said.flag("exclusive") ? 1 : 0}, {"reverse", said.flag("reverse") ? 1 : 0}}));
}

// One number per formula, joined to a list.
Name computed_sizes(Writer &w, const Listed &said) {
  static constexpr const char *names[] = {"", "", "Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Equal", "Less"};
  Names all, stack;
  const Ints &f = said.numbers("formulas");
  for (size_t i = 0; i + 1 < f.size(); i += 2) {
    const auto step = static_cast<ops::SizeStep>(f[i]);
    if (f[i] < 0) {
      all.push_back(stack.back()), stack.clear();
    } else if (step == ops::SizeStep::number) {
      stack.push_back(w.ints({f[i + 1]}));
    } else if (step == ops::SizeStep::axis) {
      const int64_t axis = f[i + 1] % 64;
      stack.push_back(w.dims(w.in(static_cast<size_t>(f[i + 1] / 64)), axis, axis + 1));
    } else {
      const Name b = stack.back();
      stack.pop_back();
      const Name y = w.node(names[f[i]], {stack.back(), b});
      stack.back() = step >= ops::SizeStep::equal ? w.cast(y, DType::i64) : y;
    }
  }
  return all.empty() ? w.ints({}) : all.size() == 1 ? all[0] : w.node("Concat", all, {{"axis", 0}});
}
void sizes(Writer &w, const Listed &said) { w.give(0, computed_sizes(w, said)); }
void zeros_of(Writer &w, const Listed &said) {
  w.give(0, w.cast(w.node("ConstantOfShape", {computed_sizes(w, said)}), DType::boolean));
}

void range(Writer &w, const Listed &) {
  w.give(0, w.node("Range", {w.ints({0}, true), w.cast(w.in(0), DType::i64), w.ints({1}, true)}));
}

// ONNX's returns only the selected rows.
void non_max_suppression(Writer &w, const Listed &said) {
  const auto one = [](double v) {
    Tensor t = make_tensor(DType::f32, {1});
    *t.as<float>() = static_cast<float>(v);
    return t;
  };
  Names in{w.in(0), w.in(1), w.ints({said.number("most")}), w.tensor(one(said.real("overlap")))};
  if (said.flag("least")) in.push_back(w.tensor(one(said.real("least"))));
  const Name rows = w.node("NonMaxSuppression", in, {{"center_point_box", said.flag("centres") ? 1 : 0}});
  w.give(0, rows), w.give(1, w.node("Squeeze", {w.dims(rows, 0, 1), w.ints({0})}));
}

void view(Writer &w, const Listed &said) {
  const Ints &shape = said.numbers("shape");
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  const int64_t offset = said.number("offset");
  w.give(0, w.node("Reshape", {sliced(w, w.in(0), 0, offset, offset + n), w.ints(shape)}));
}

// ---- reductions and selects ---------------------------------------------------------------------------------------

void reduce(Writer &w, const Listed &said) {
  constexpr std::pair<const char *, const char *> names[] = {{"sum", "ReduceSum"},   {"mean", "ReduceMean"},
                                                             {"max", "ReduceMax"},   {"min", "ReduceMin"},
                                                             {"prod", "ReduceProd"}, {"sum_squares", "ReduceSumSquare"},
                                                             {"sum_abs", "ReduceL1"}};
  const bool flags = w.dtype(0) == DType::boolean;
  Ints axes = said.numbers("axes");
  if (axes.empty())
    for (int i = 0; i < w.shape(0).rank(); ++i) axes.push_back(i);
  Name x = flags ? w.cast(w.in(0), DType::f32) : w.in(0);
  for (const auto &[ours, theirs] : names)
    if (said.word() == ours)
      x = axes.empty() ? x : w.node(theirs, {x, w.ints(axes)}, {{"keepdims", said.flag("keepdims") ? 1 : 0}});
  w.give(0, flags ? w.cast(x, DType::boolean) : x);
}

void square_sum(Writer &w, const Listed &) { w.give(0, w.node("ReduceSumSquare", {w.in(0)}, {{"keepdims", 0}})); }
void argmax(Writer &w, const Listed &said) {
  w.give(0, w.cast(w.node("ArgMax", {w.in(0)}, {{"axis", said.number("axis")}, {"keepdims", 0}}), DType::i32));
}
void softmax(Writer &w, const Listed &) {
  const auto *op = ops::as<ops::SoftmaxOp>(w.now());
  w.give(0, w.node(op->log ? "LogSoftmax" : "Softmax", {w.in(0)}, {{"axis", op->axis}}));
}
void hardmax(Writer &w, const Listed &said) {
  w.give(0, w.node("Hardmax", {w.in(0)}, {{"axis", said.number("axis")}}));
}

void gather(Writer &w, const Listed &) {
  const bool wide = w.dtype(1) == DType::i32 || w.dtype(1) == DType::i64;
  w.give(0, w.node("Gather", {w.in(0), wide ? w.in(1) : w.cast(w.in(1), DType::i64)}));
}

// Whether t - before <= s <= t + after.
void band_mask(Writer &w, const Listed &said) {
  const int rank = w.shape(0).rank();
  const Name t = w.node("Unsqueeze", {w.range_over(w.in(0), rank - 2), w.ints({1})});
  const Name apart = w.node("Sub", {w.range_over(w.in(0), rank - 1), t});
  const Name low = w.node("GreaterOrEqual", {apart, w.ints({-said.number("before")}, true)});
  w.give(0, w.node("And", {low, w.node("LessOrEqual", {apart, w.ints({said.number("after")}, true)})}));
}

}  // namespace

constexpr WriteRow plain_table[] = {{"unary", unary},
                                    {"binary", binary},
                                    {"select", select},
                                    {"cast", cast},
                                    {"reduce_precision", reduce_precision},
                                    {"copy", as_it_is},
                                    {"stop_gradient", as_it_is},
                                    {"straight_through", as_it_is},
                                    {"fill", fill},
                                    {"random_uniform", random_uniform},
                                    {"random_normal", random_normal},
                                    {"broadcast_like", broadcast_like},
                                    {"reshape", reshape},
                                    {"reshape_like", reshape_like},
                                    {"expand_dims", expand_dims},
                                    {"squeeze", squeeze},
                                    {"transpose", transpose},
                                    {"concat", concat},
                                    {"slice", slice},
                                    {"pad", pad},
                                    {"repeat", repeat},
                                    {"flip", flip},
                                    {"indices", indices},
                                    {"sizes", sizes},
                                    {"sort", sort},
                                    {"range", range},
                                    {"non_max_suppression", non_max_suppression},
                                    {"cumulate", cumulate},
                                    {"zeros_of", zeros_of},
                                    {"view", view},
                                    {"reduce", reduce},
                                    {"square_sum", square_sum},
                                    {"argmax", argmax},
                                    {"softmax", softmax},
                                    {"hardmax", hardmax},
                                    {"gather", gather},
                                    {"band_mask", band_mask},
                                    {"check_finite", nothing}};
const std::span<const WriteRow> plain_ops = plain_table;

}  // namespace dl4::io::onnx
