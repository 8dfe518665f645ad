// ONNX's quantized arithmetic: sums of products of 8-bit integers, exact like ONNX Runtime's.
//
// float32 adds integers up to 2^24 exactly. For larger sums one factor is split into parts of fewer bits, whose sums
// are combined in int32.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "io/onnx/read/windows.hpp"

namespace dl4::io::onnx {
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
void give_quantized(const Op &op, Node sum, size_t a_scale, size_t b_scale, size_t y_scale, size_t y_zero,
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
  give_quantized(op, sum, 1, 4, 6, 7, dims, plain(static_cast<int>(dims.size())));
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
  give_quantized(op, sum, 1, 4, 6, 7, dims, perm);
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
