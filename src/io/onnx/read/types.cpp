// ONNX's Cast and CastLike, and values of types represented by another.
#include <cmath>

#include "io/onnx/read/math.hpp"
#include "io/onnx/types.hpp"

namespace dl4::io::onnx {

Node wide(const Op &op, Node x) { return op.r.graph().dtype(x) == DType::u8 ? op.cast(x, DType::i32) : x; }

Node wrapped(const Op &op, Node x, Type type) {
  const DType held = stands_for(type), here = op.r.graph().dtype(x);
  if (here == DType::u8 && type == Type::uint8) return x;
  if (held == DType::i64 || (here != DType::i32 && here != DType::i64))
    x = op.cast(x, held == DType::i64 ? held : DType::i32);
  const int all = 8 * static_cast<int>(size_of(op.r.graph().dtype(x))), bits = bits_of(type);
  if (bits < all && is_signed(type))
    x = by_number(op, "RightShift", by_number(op, "LeftShift", x, all - bits), all - bits);
  else if (bits < all)
    x = by_number(op, "BitwiseAnd", x, std::ldexp(1.0, bits) - 1);
  return op.cast(x, held);
}

Node rounded(const Op &op, Node x, Type type, bool saturate) {
  const SmallFloat *f = small_float(type);
  if (!f) return x;
  // If no IEEE type has its least exponent: rounds in a type with more exponent bits, after scaling to its least one.
  const int more = 6, away = f->bias - 31;
  const auto bits = [&](int exponent, Node n) {
    return op.layer("ReducePrecision", {{"exponent_bits", exponent}, {"mantissa_bits", f->mantissa_bits}}, {n});
  };
  const auto times = [&](Node n, int power) { return by_number(op, "BroadcastMultiply", n, std::ldexp(1.0, power)); };
  Node y = f->is_ieee() ? bits(f->exponent_bits, x) : times(bits(more, times(x, away)), -away);
  const double most = static_cast<double>(f->largest);
  if (saturate || !f->has_nan) {
    y = op.layer("Clip", {{"x_min", -most}, {"x_max", most}}, {y});
  } else if (!f->has_infinity) {
    const Tensor nan = scalar(std::numeric_limits<double>::quiet_NaN());
    const Node past = by_number(op, "Greater", op.layer("Absolute", {}, {y}), most);
    y = op.layer("Where", {}, {past, op.constant_node(nan), y});
  }
  if (!f->has_nan) y = op.layer("Where", {{"x1", 0}}, {op.layer("Isnan", {}, {x}), y});
  return f->one_zero ? by_number(op, "BroadcastAdd", y, 0) : y;
}

float rounded(float x, Type type, bool saturate) {
  const SmallFloat *f = small_float(type);
  return f ? nearest(*f, x, saturate) : x;
}

namespace {

// From numbers to strings and back.
void cast_texts(const Op &op, Type to) {
  Value &v = op.in(0);
  const Type numbers = to == Type::string ? v.onnx_type() : to;
  const bool small = is_integer(numbers) && numbers != Type::int32 && numbers != Type::int64;
  const bool other =
      numbers != Type::float32 && !is_integer(numbers) && (to != Type::string || numbers != Type::boolean);
  if (other || numbers == Type::uint64 || (small && to != Type::string))
    op.refuse("from ", v.onnx_type(), " to ", to, " is not supported");
  op.give(0, op.cast(op.x(0), stands_for(to)), v.dims);
  op.of_type(0, to);
}

void cast_to(const Op &op, Type to) {
  Value &v = op.in(0);
  const DType type = stands_for(to);
  if ((v.dtype == DType::string) != (type == DType::string)) return cast_texts(op, to);
  const bool saturate = op.flag("saturate") && to != Type::float16 && to != Type::bfloat16;
  const bool whole = type != DType::f32 && type != DType::boolean;
  const bool same = (v.onnx_type() == to && v.type != Type::none) || type == DType::string;
  if (same || (to == Type::float32 && v.dtype == DType::f32) || (to == Type::float64 && v.dtype == DType::f32)) {
    Value as_it_is = v;
    as_it_is.type = to;
    return op.give_value(0, std::move(as_it_is));
  }
  const auto fits = [&](const Dim &d) { return !d.known() || holds(to, d.factor); };
  if (v.sizes && whole && std::ranges::all_of(*v.sizes, fits)) return op.give_elements(0, *v.sizes, v.dims, to);
  if (const auto size = free_size(op, 0); size && (to == Type::float32 || to == Type::float64))
    return give_asked(op, {Asked::What::number, *size}, type, v.dims);
  const Perm perm = v.perm();
  Node x = op.as(v, perm);
  if (whole)
    x = wrapped(op, x, to);
  else if (type == DType::f32)
    x = rounded(op, op.cast(x, type), to, saturate);
  else
    x = op.cast(x, type);
  op.give(0, x, v.dims, perm);
  op.of_type(0, to);
}

}  // namespace

constexpr Row type_table[] = {
    {"Cast", [](const Op &op) { cast_to(op, static_cast<Type>(op.integer("to"))); },
     "input > output; round_mode@24=up|down|nearest saturate@19=1|0 to@-5:string! to@6:int!"},
    {"CastLike", [](const Op &op) { cast_to(op, op.in(1).onnx_type()); },
     "input target_type > output; round_mode@24=up|down|nearest saturate@19=1|0"},
};
const std::span<const Row> type_rows = type_table;

}  // namespace dl4::io::onnx
