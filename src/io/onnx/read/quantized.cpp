// QuantizeLinear and DequantizeLinear: numbers are rounded and clipped as ONNX specifies; computation between them is
// in float32.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"
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

}  // namespace dl4::io::onnx
