// QuantizeLinear and DequantizeLinear: numbers are rounded and clipped as ONNX specifies; computation between them is
// in float32.
// ONNX's quantized arithmetic: sums of products of 8-bit integers, exact like ONNX Runtime's.
//
// float32 adds integers up to 2^24 exactly. For larger sums one factor is split into parts of fewer bits, whose sums
// are combined in int32.
#include <cmath>

#include "io/onnx/read/windows.hpp"
#include "io/onnx/types.hpp"

namespace dl4::io::onnx {
namespace {

struct Limits {
  int64_t low, high;
};
Limits limits_of(const Op &op, Type type) {
  const int bits = bits_of(type);
  if (!is_integer(type) || bits > 16) op.refuse("to ", type, " is not supported, only to integers of up to 16 bits");
  const int64_t whole = int64_t{1} << bits;
  return is_signed(type) ? Limits{-whole / 2, whole / 2 - 1} : Limits{0, whole - 1};
}

}  // namespace

void give_quantized(const Op &op, Node n, int64_t zero, Type type, std::vector<Dim> dims, const Perm &perm) {
  const Limits most = limits_of(op, type);
  n = op.layer("Clip", {{"x_min", most.low - zero}, {"x_max", most.high - zero}}, {n});
  const Node whole = zero == 0 ? n : by_number(op, "BroadcastAdd", n, static_cast<double>(zero));
  Value to;
  to.type = type, to.dtype = stands_for(type), to.dims = std::move(dims);
  to.forms.push_back({perm, op.cast(whole, to.dtype)});
  to.quantized = Quantized{n, zero, most.low >= zero};
  op.give_value(0, std::move(to));
}

namespace {

// Scales and zero points: one each, one per position of an axis, or one per block of positions.
struct Steps {
  Tensor scale;
  Ints zero;                                // as many
  int64_t inner = 1, places = 1, each = 0;  // elements after the axis; its size, and positions per scale; 0: one scale
  bool blocks = false;                      // whether other axes have separate scales too

  // Index of an element's scale, from its position in the whole value.
  size_t at(int64_t i) const {
    if (each == 0) return 0;
    const int64_t scales = (places - 1) / each + 1, before = i / (inner * places), place = i / inner % places;
    return static_cast<size_t>(!blocks ? place : (before * scales + place / each) * inner + i % inner);
  }
  bool one_zero() const {
    return std::all_of(zero.begin(), zero.end(), [&](int64_t z) { return z == zero[0]; });
  }
};

Steps steps_of(const Op &op) {
  const Value &v = op.in(0);
  Steps s{op.floats(1, "scale"), {}};
  const int64_t n = s.scale.elements(), block = op.integer("block_size");
  for (int64_t i = 0; i < n; ++i)
    if (const float v = s.scale.as<float>()[i]; v == 0 || !std::isfinite(v))
      fail(Code::corrupt_file, "has a scale of ", v, ", expected a number other than 0");
  if (n < 1 || block < 0 || block > max_dim) fail(Code::corrupt_file, "has ", n, " scales for blocks of ", block);
  s.zero.assign(static_cast<size_t>(n), 0);
  if (op.has(2)) {
    auto zero = op.constant(2);
    if (zero && zero->dtype == DType::f32 && small_float(op.in(2).onnx_type())) {
      for (int64_t i = 0; i < zero->elements(); ++i)
        if (zero->as<float>()[i] != 0)
          op.refuse("has a zero point of ", zero->as<float>()[i], " of floats, expected 0");
      zero = tensor_of(Ints(static_cast<size_t>(zero->elements())), DType::i32, zero->shape);
    }
    if (!zero || zero->dtype == DType::f32 || zero->dtype == DType::i64)
      op.refuse("its zero point is computed by the model, or no integer of up to 32 bits");
    s.zero = ints_of(*zero);
  }
  if (static_cast<int64_t>(s.zero.size()) != n) fail(Code::corrupt_file, "has other zero points than scales");
  if (block == 0 && n == 1) return s;
  const auto axis = static_cast<size_t>(op.axis(v.rank()));
  for (size_t i = axis; i < v.dims.size(); ++i) {
    if (block == 0 && i > axis && !v.constant) break;  // not needed
    if (!v.dims[i].known()) op.refuse("with scales along a free axis is not supported");
    (i == axis ? s.places : s.inner) = checked_mul(i == axis ? 1 : s.inner, v.dims[i].factor);
  }
  s.each = std::max<int64_t>(block, 1), s.blocks = block > 0;
  Ints wanted;
  if (block == 0)
    wanted = {s.places};
  else
    for (size_t i = 0; i < v.dims.size(); ++i) {
      if (!v.dims[i].known()) op.refuse("with blocks of a value with free axes is not supported");
      wanted.push_back(i == axis ? (v.dims[i].factor + block - 1) / block : v.dims[i].factor);
    }
  if (s.scale.shape != Shape(wanted))
    fail(Code::corrupt_file, "has scales of ", s.scale.shape, ", expected ", Shape(wanted));
  return s;
}

// f(index of the scale) as a constant that broadcasts with the value in axis order `perm`.
template <class F>
Node constant_of(const Op &op, const Steps &s, const Perm &perm, F f) {
  const Value &v = op.in(0);
  Ints dims(v.dims.size(), 1);
  if (s.each == 0) dims.clear();
  if (s.each > 0 && !s.blocks) dims[static_cast<size_t>(op.axis(v.rank()))] = s.places;
  for (size_t i = 0; s.blocks && i < dims.size(); ++i) dims[i] = v.dims[i].factor;
  const Shape shape(dims);
  op.take(checked_mul(2, shape.elements(), size_of(DType::f32)));
  Tensor t = make_tensor(DType::f32, shape);
  for (int64_t i = 0; i < t.elements(); ++i)
    t.as<float>()[i] = static_cast<float>(f(s.blocks || s.each == 0 ? s.at(i) : static_cast<size_t>(i)));
  return op.constant_node(s.each == 0 ? t : transposed(t, perm));
}
Node scales(const Op &op, const Steps &s, const Perm &perm) {
  return constant_of(op, s, perm, [&](size_t k) { return s.scale.as<float>()[k]; });
}
Node zeros(const Op &op, const Steps &s, const Perm &perm) {
  return constant_of(op, s, perm, [&](size_t k) { return s.zero[k]; });
}

// To floats of fewer bits.
void quantize_floats(const Op &op, const Steps &s, Type type) {
  Value &v = op.in(0);
  const bool saturate = op.flag("saturate");
  const Perm perm = v.perm();
  const Node x = op.layer("Divide", {}, {op.as(v, perm), scales(op, s, perm)});
  op.give(0, rounded(op, x, type, saturate), v.dims, perm);
  op.of_type(0, type);
}

void quantize(const Op &op) {
  Value &v = op.in(0);
  const auto said = static_cast<Type>(op.integer("output_dtype"));
  const Type type = op.has(2) ? op.in(2).onnx_type() : said == Type::none ? Type::uint8 : said;
  if (said != Type::none && said != type)
    fail(Code::corrupt_file, "has \"output_dtype\" ", said, " and zeros of ", type);
  const Steps s = steps_of(op);
  if (small_float(type)) return quantize_floats(op, s, type);
  const Limits most = limits_of(op, type);
  if (const auto t = op.constant(0)) {
    op.take(checked_mul(12, t->elements()));
    Ints list;
    for (int64_t i = 0; i < t->elements(); ++i) {
      const size_t k = s.at(i);
      const float low = static_cast<float>(most.low - s.zero[k]), high = static_cast<float>(most.high - s.zero[k]);
      const float x = t->as<float>()[i] / s.scale.as<float>()[k];
      list.push_back(static_cast<int64_t>(std::nearbyint(x > low ? std::min(x, high) : low)) + s.zero[k]);
    }
    return op.give_constant(0, tensor_of(list, stands_for(type), t->shape), type);
  }
  const Perm perm = v.perm();
  const Node x = op.layer("Divide", {}, {op.as(v, perm), scales(op, s, perm)});
  Node y = op.layer("Round", {}, {x});
  // With a single zero point, records the value before adding it, for a DequantizeLinear that would subtract it again.
  const int64_t zero = s.one_zero() ? s.zero[0] : 0;
  if (!s.one_zero()) y = plus(op, y, zeros(op, s, perm));
  give_quantized(op, y, zero, type, v.dims, perm);
}

void dequantize(const Op &op) {
  Value &v = op.in(0);
  const bool floats = v.dtype == DType::f32 && small_float(v.onnx_type());
  if ((v.dtype == DType::f32 && !floats) || v.dtype == DType::i64)
    op.refuse("is supported for small integers and floats of fewer bits, not for ", v.dtype);
  const auto said = static_cast<Type>(op.integer("output_dtype"));
  if (said != Type::none && stands_for(said) != DType::f32) op.refuse("to ", said, " is not supported, only to floats");
  const Steps s = steps_of(op);
  if (const auto t = floats ? std::nullopt : op.constant(0)) {
    op.take(checked_mul(12, t->elements()));
    const Ints numbers = ints_of(*t);
    Tensor to = make_tensor(DType::f32, t->shape);
    for (int64_t i = 0; i < to.elements(); ++i) {
      const size_t k = s.at(i);
      const float x = static_cast<float>(numbers[static_cast<size_t>(i)] - s.zero[k]) * s.scale.as<float>()[k];
      to.as<float>()[i] = rounded(x, said, false);
    }
    return op.give_constant(0, std::move(to), said);
  }
  const Perm perm = v.perm();
  const bool known = v.quantized && s.one_zero() && v.quantized->zero == s.zero[0];
  Node x = known ? v.quantized->less_zero : op.cast(op.as(v, perm), DType::f32);
  const bool all_zero = s.one_zero() && s.zero[0] == 0;
  if (!known && !all_zero) x = minus(op, x, zeros(op, s, perm));
  x = rounded(op, times(op, x, scales(op, s, perm)), said, false);
  op.give(0, x, v.dims, perm, known && v.quantized->not_negative);
  op.of_type(0, said);
}

}  // namespace

constexpr Row quantized_table[] = {
    {"QuantizeLinear", quantize,
     "x~ y_scale y_zero_point? > y; axis@13=1 block_size@21=0 output_dtype@21=0 precision@23=0|1 "
     "saturate@19=1|0"},
    {"DequantizeLinear", dequantize, "x x_scale x_zero_point? > y; axis@13=1 block_size@21=0 output_dtype@23=0"}};
const std::span<const Row> quantized_rows = quantized_table;

namespace {

constexpr int64_t exact = int64_t{1} << 24, most_factor = 255;

void need_bytes(const Op &op, size_t i) {
  const Type type = op.in(i).onnx_type();
  if (type != Type::uint8 && type != Type::int8) op.refuse("is supported for integers of 8 bits, not for ", type);
}

// product(x) for integers x up to 255, with sums of `terms` terms of up to 255 each.
template <class F>
Node exactly(const Op &op, Node x, int64_t terms, F product) {
  if (checked_mul(most_factor, most_factor, terms) <= exact) return product(x);
  int bits = 0;
  while (checked_mul(most_factor, terms) << (bits + 1) <= exact) ++bits;
  if (bits < 1) op.refuse("of sums of ", terms, " products is not supported");
  Node sum = graph::no_node;
  for (int low = (8 - 1) / bits * bits; low >= 0; low -= bits) {
    const double unit = std::ldexp(1.0, low);
    Node part = x;
    if (low > 0) {
      part = op.layer("Floor", {}, {by_number(op, "BroadcastMultiply", x, 1 / unit)});
      x = minus(op, x, by_number(op, "BroadcastMultiply", part, unit));
    }
    Node y = op.cast(product(part), DType::i32);
    if (low > 0) y = by_number(op, "BroadcastMultiply", y, unit);
    sum = sum == graph::no_node ? y : plus(op, sum, y);
  }
  return sum;
}

// An input minus its zero point, as float. `axes`: appended to a list of zero points, one per row.
Node less_zero(const Op &op, size_t i, size_t zero, const Perm &perm, bool by_row = false) {
  need_bytes(op, i);
  Node x = op.cast(op.as(i, perm), DType::f32);
  if (!op.has(zero)) return x;
  Value &z = op.in(zero);
  if (const auto t = op.constant(zero)) {
    const Ints list = ints_of(*t);
    if (std::all_of(list.begin(), list.end(), [](int64_t n) { return n == 0; })) return x;
  }
  Node n = op.cast(op.x(zero), DType::f32);
  const bool one = z.rank() == 0 || (z.rank() == 1 && z.dims[0] == Dim{1, {}});
  if (one && z.rank() == 1) n = op.layer("Squeeze", {{"axis", 0}}, {n});
  if (by_row && !one && z.rank() == 1) n = op.layer("ExpandDims", {{"axis", 1}}, {n});
  return minus(op, x, n);
}

Node integer_product(const Op &op, size_t a, size_t a_zero, size_t b, size_t b_zero, std::vector<Dim> &dims) {
  const Value &x = op.in(a), &w = op.in(b);
  if (x.rank() < 1 || w.rank() < 1) op.refuse("of a single number is not supported");
  const Dim &last = x.dims.back();
  const int64_t terms = known(op, last.known() ? last : w.dims[w.rank() == 1 ? 0 : w.dims.size() - 2],
                              "the axis that is summed over");  // only one of them may state it
  const Node left = less_zero(op, a, a_zero, plain(x.rank()), true), right = less_zero(op, b, b_zero, plain(w.rank()));
  return product(op, a, left, b, right, dims, [&](Node m, Node n) {
    return exactly(op, m, terms, [&](Node part) { return op.layer("MatMul", {}, {part, n}); });
  });
}

void give_whole(const Op &op, Node n, const std::vector<Dim> &dims, const Perm &perm) {
  op.give(0, op.cast(n, DType::i32), dims, perm);
}

// ---- convolutions --------------------------------------------------------------------------------------------------

// A kernel (M, C / groups, ...) minus its zero points, as float.
Tensor kernel_of(const Op &op, size_t i, size_t zero) {
  need_bytes(op, i);
  const auto t = op.constant(i);
  if (!t) op.refuse("its kernel is computed by the model; it must be a constant");
  need_kernel(op, *t);
  Ints zeros{0};
  if (op.has(zero)) {
    const auto z = op.constant(zero);
    if (!z) op.refuse("its kernel's zero point is computed by the model; it must be a constant");
    zeros = ints_of(*z);
  }
  if (zeros.size() != 1 && static_cast<int64_t>(zeros.size()) != t->shape[0])
    fail(Code::corrupt_file, "has ", zeros.size(), " zero points for ", t->shape[0], " filters");
  op.take(checked_mul(t->elements(), 12));
  const Ints list = ints_of(*t);
  const int64_t each = t->elements() / t->shape[0];
  Tensor w = make_tensor(DType::f32, t->shape);
  for (int64_t k = 0; k < t->elements(); ++k)
    w.as<float>()[k] =
        static_cast<float>(list[static_cast<size_t>(k)] - zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(k / each)]);
  return w;
}

Node convolution(const Op &op, Node x, const Tensor &w, const Window &how) {
  return exactly(op, x, w.elements() / w.shape[0], [&](Node n) { return convolved_by_row(op, n, w, how, {}); });
}

void conv_integer(const Op &op) {
  const Value &v = op.in(0);
  const Perm perm = channels_last(v.rank());
  const Tensor w = kernel_of(op, 1, 3);
  if (op.has(2) && op.in(2).rank() > 0 && !(op.in(2).dims[0] == Dim{1, {}}))
    op.refuse("with a zero point for each channel is not supported");
  const Window how = window(op, {w.shape.begin() + 2, w.shape.end()}, v.dims);
  give_whole(op, convolution(op, less_zero(op, 0, 2, perm), w, how), {v.dims[0]}, perm);
}

// ---- with scales ---------------------------------------------------------------------------------------------------

Tensor one_float(const Op &op, size_t i, const char *what) {
  const Tensor t = op.floats(i, what);
  if (t.elements() != 1) op.refuse("has ", t.elements(), " numbers as its ", what, ", only one is supported");
  return t;
}

// The sums times both factors' scales over the result's, rounded and clipped.
void give_scaled(const Op &op, Node sum, size_t a_scale, size_t b_scale, size_t y_scale, size_t y_zero,
                 const std::vector<Dim> &dims, const Perm &perm) {
  need_bytes(op, y_zero);
  const Type type = op.in(y_zero).onnx_type();
  const auto zeros = op.constant(y_zero);
  if (!zeros || zeros->elements() != 1) op.refuse("its output's zero point is computed by the model, or is not one");
  const float a = *one_float(op, a_scale, "first scale").as<float>(),
              y = *one_float(op, y_scale, "output's scale").as<float>();
  const Tensor b = op.floats(b_scale, "second scale");
  if (b.shape.rank() > 1) op.refuse("has scales of ", b.shape);
  std::vector<float> scales{a, y};
  scales.insert(scales.end(), b.as<float>(), b.as<float>() + b.elements());
  for (const float v : scales)
    if (v == 0 || !std::isfinite(v)) fail(Code::corrupt_file, "has a scale of ", v, ", expected a number other than 0");
  Tensor scale = make_tensor(DType::f32, b.elements() == 1 ? Shape{} : b.shape);
  for (int64_t i = 0; i < b.elements(); ++i) scale.as<float>()[i] = a * b.as<float>()[i] / y;
  const Node n = times(op, op.cast(sum, DType::f32), op.constant_node(std::move(scale)));
  give_quantized(op, op.layer("Round", {}, {n}), ints_of(*zeros)[0], type, dims, perm);
}

void qlinear_matmul(const Op &op) {
  std::vector<Dim> dims;
  const Node sum = integer_product(op, 0, 2, 3, 5, dims);
  give_scaled(op, sum, 1, 4, 6, 7, dims, plain(static_cast<int>(dims.size())));
}

void qlinear_conv(const Op &op) {
  const Value &v = op.in(0);
  const Perm perm = channels_last(v.rank());
  const Tensor w = kernel_of(op, 3, 5);
  const Window how = window(op, {w.shape.begin() + 2, w.shape.end()}, v.dims);
  Node sum = convolution(op, less_zero(op, 0, 2, perm), w, how);
  if (op.has(8)) sum = plus(op, op.cast(sum, DType::i32), op.cast(op.x(8), DType::i32));
  const Shape s = op.shape(sum);
  std::vector<Dim> dims{v.dims[0], {w.shape[0], {}}};
  for (int i = 1; i < s.rank() - 1; ++i) dims.push_back(s[i] == free_dim ? Dim{1, {op.r.fresh()}} : Dim{s[i], {}});
  give_scaled(op, sum, 1, 4, 6, 7, dims, perm);
}

void dynamic_quantize(const Op &op) {
  Value &v = op.in(0);
  const Perm perm = v.perm();
  const Node x = op.as(v, perm);
  const Node least = by_number(op, "BroadcastMinimum", op.layer("Min", {}, {x}), 0),
             most = by_number(op, "BroadcastMaximum", op.layer("Max", {}, {x}), 0);
  const Node reach = by_number(op, "Divide", minus(op, most, least), 255);
  const Node scale = op.layer("Where", {{"x2", 1}}, {by_number(op, "Greater", reach, 0), reach});
  const Node low = op.layer("Negative", {}, {op.layer("Divide", {}, {least, scale})});
  const Node zero = op.layer("Round", {}, {op.layer("Clip", {{"x_min", 0}, {"x_max", 255}}, {low})});
  const Node steps = op.layer("Round", {}, {op.layer("Divide", {}, {x, scale})});
  const Node whole = op.layer("Clip", {{"x_min", 0}, {"x_max", 255}}, {plus(op, steps, zero)});
  op.give(0, op.cast(whole, DType::u8), v.dims, perm);
  op.give(1, scale);
  op.give(2, op.cast(zero, DType::u8));
}

}  // namespace

constexpr Row integer_table[] = {
    {"MatMulInteger",
     [](const Op &op) {
       std::vector<Dim> dims;
       const Node n = integer_product(op, 0, 2, 1, 3, dims);
       give_whole(op, n, dims, plain(static_cast<int>(dims.size())));
     },
     "A B a_zero_point? b_zero_point? > Y", slow},
    {"ConvInteger", conv_integer,
     "x w x_zero_point? w_zero_point? > y; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:ints "
     "group=1 kernel_shape:ints pads:ints strides:ints",
     slow},
    {"QLinearMatMul", qlinear_matmul, "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point > y", slow},
    {"QLinearConv", qlinear_conv,
     "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B? > y; "
     "auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:ints group=1 kernel_shape:ints pads:ints "
     "strides:ints",
     slow},
    {"DynamicQuantizeLinear", dynamic_quantize, "x~ > y y_scale y_zero_point"},
};
const std::span<const Row> integer_rows = integer_table;

}  // namespace dl4::io::onnx
