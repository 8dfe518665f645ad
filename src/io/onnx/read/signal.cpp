// ONNX's Fourier transforms, as products with cosines and sines.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

constexpr int64_t most_weights = int64_t{1} << 25;

struct Transform {
  int64_t length = 0;                  // of the transform
  int64_t from = 0, to = 0;            // positions of input and output
  int64_t in = 1, out = 2;             // 2: real and imaginary part
  bool inverse = false, half = false;  // half: the input of an inverse transform is one-sided
};

// (from * in, to * out): contribution of each input element to each output element, times the position's window value.
Tensor weights_of(const Op &op, const Transform &t, const float *window = nullptr) {
  const int64_t rows = checked_mul(t.from, t.in), columns = checked_mul(t.to, t.out);
  if (checked_mul(rows, columns) > most_weights)
    op.refuse("of ", t.from, " places to ", t.to, " is not supported, only of up to ", most_weights, " weights");
  op.take(checked_add(checked_mul(rows, columns, 4), checked_mul(t.length, 16)));
  std::vector<double> cosines(static_cast<size_t>(t.length)), sines(cosines.size());
  for (size_t i = 0; i < cosines.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(t.length);
    cosines[i] = std::cos(angle), sines[i] = t.inverse ? std::sin(angle) : -std::sin(angle);
  }
  Tensor w = make_zeros(DType::f32, {rows, columns});
  for (int64_t i = 0; i < std::min(t.from, t.half ? t.length / 2 + 1 : t.length); ++i) {
    double scale = window ? static_cast<double>(window[i]) : 1;
    if (t.half && i > 0 && 2 * i != t.length) scale *= 2;  // and of its mirror image
    if (t.inverse) scale /= static_cast<double>(t.length);
    for (int64_t k = 0; k < t.to; ++k) {
      const auto turn = static_cast<size_t>(i * k % t.length);
      const double parts[2][2] = {{cosines[turn], sines[turn]}, {-sines[turn], cosines[turn]}};
      for (int64_t a = 0; a < t.in; ++a)
        for (int64_t b = 0; b < t.out; ++b)
          w.as<float>()[(i * t.in + a) * columns + k * t.out + b] = static_cast<float>(parts[a][b] * scale);
    }
  }
  return w;
}

int64_t parts_of(const Op &op, const Value &v) {
  const int64_t parts = v.rank() > 0 && v.dims.back().known() ? v.dims.back().factor : 0;
  if (parts != 1 && parts != 2) op.refuse("of a value whose last axis is neither 1, real, nor 2, complex");
  return parts;
}

// Keeps the first axis and reshapes the others, one of which may be free.
Node seen_as(const Op &op, Node x, const Ints &target) {
  if (std::count(target.begin(), target.end(), free_dim) > 1) op.refuse("with so many free axes is not supported");
  return op.layer("Reshape", {{"target_shape", target}}, {x});
}

// Over a free axis: cosines and sines are computed at run time. Angles are integers times 2 pi / n, so they are as
// precise as the first one.
void free_dft(const Op &op, int axis, int64_t parts, bool inverse) {
  if (op.flag("onesided") || op.has(1)) op.refuse("of a free axis, onesided or of another length, is not supported");
  Value &v = op.in(0);
  const Dim n = v.dims[static_cast<size_t>(axis)];
  const Node places = op.places(n), size = op.number(n);
  const Node turns = op.layer("Mod", {}, {times(op, op.layer("ExpandDims", {{"axis", 1}}, {places}), places), size});
  const Node angle =
      by_number(op, "BroadcastMultiply",
                op.layer("Divide", {}, {op.cast(turns, DType::f32), op.cast(size, DType::f32)}), 2 * std::numbers::pi);
  const Node cosines = op.layer("Cos", {}, {angle}), sines = op.layer("Sin", {}, {angle});
  Perm perm;
  for (int i = 0; i < v.rank() - 1; ++i)
    if (i != axis) perm.push_back(i);
  perm.push_back(axis), perm.push_back(v.rank() - 1);
  const int last = v.rank() - 1;
  const Node x = op.as(v, perm);
  const auto part = [&](int64_t i) { return op.layer("Squeeze", {{"axis", last}}, {op.cut(x, last, i, 1)}); };
  const auto product = [&](Node a, Node b) { return op.layer("MatMul", {}, {a, b}); };
  // (re + i im) (cos -+ i sin)
  Node real = product(part(0), cosines), imaginary = product(part(0), sines);
  if (!inverse) imaginary = op.layer("Negative", {}, {imaginary});
  if (parts == 2) {
    const Node across = product(part(1), sines);
    real = inverse ? minus(op, real, across) : plus(op, real, across);
    imaginary = plus(op, imaginary, product(part(1), cosines));
  }
  std::vector<Node> both;
  for (Node y : {real, imaginary}) {
    if (inverse) y = op.layer("Divide", {}, {y, op.cast(size, DType::f32)});
    both.push_back(op.layer("ExpandDims", {{"axis", last}}, {y}));
  }
  std::vector<Dim> dims = v.dims;
  dims.back() = {2, {}};
  op.give(0, op.layer("Concatenate", {{"axis", last}}, both), dims, perm);
}

void dft(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() < 3) op.refuse("of a value of ", v.rank(), " axes is not supported");
  int64_t axis = op.opset() < 20 ? op.integer("axis") : -2;
  if (op.opset() >= 20 && op.has(2)) axis = static_cast<int64_t>(op.number(2, -2));
  axis = op.axis_of(axis, v.rank());
  if (axis == v.rank() - 1) fail(Code::corrupt_file, "has the axis of real and imaginary parts as its axis");
  Transform t;
  t.in = parts_of(op, v);
  t.inverse = op.flag("inverse");
  const bool onesided = op.flag("onesided");
  if (!v.dims[static_cast<size_t>(axis)].known()) return free_dft(op, static_cast<int>(axis), t.in, t.inverse);
  t.from = v.dims[static_cast<size_t>(axis)].factor;
  const double length = op.number(1, static_cast<double>(t.inverse && onesided ? 2 * (t.from - 1) : t.from));
  if (!(length >= 1 && length <= 1 << 24)) op.refuse("of ", length, " places is not supported");
  t.length = t.to = static_cast<int64_t>(length);
  if (onesided && !t.inverse) {
    if (t.in == 2) op.refuse("\"onesided\" of complex numbers is not supported");
    t.to = t.length / 2 + 1;
  }
  if (onesided && t.inverse) t.half = true, t.out = 1;
  Perm perm;
  for (int i = 0; i < v.rank() - 1; ++i)
    if (i != axis) perm.push_back(i);
  perm.push_back(static_cast<int>(axis)), perm.push_back(v.rank() - 1);
  const Node x = op.as(v, perm);
  const Shape s = op.shape(x);
  Ints middle(s.begin() + 1, s.end() - 2), flat = middle, apart = middle;
  flat.push_back(t.from * t.in);
  apart.insert(apart.end(), {t.to, t.out});
  const Node y = op.layer("MatMul", {}, {seen_as(op, x, flat), op.constant_node(weights_of(op, t))});
  std::vector<Dim> dims = v.dims;
  dims[static_cast<size_t>(axis)] = {t.to, {}};
  op.give(0, seen_as(op, y, apart), dims, perm);
}

void stft(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() != 3) op.refuse("of a value of ", v.rank(), " axes is not supported");
  std::optional<Tensor> window;
  if (op.has(2)) window = op.floats(2, "window");
  if (window && window->shape.rank() != 1) fail(Code::corrupt_file, "has a window of ", window->shape);
  if (!window && !op.has(3)) fail(Code::corrupt_file, "has neither a window nor a length of a frame");
  const double length = op.number(3, window ? static_cast<double>(window->elements()) : 0), step = op.number(1, 0);
  if (!(length >= 1 && length <= 1 << 20 && step >= 1 && step <= max_dim))
    op.refuse("has frames of ", length, " in steps of ", step);
  Transform t;
  t.in = parts_of(op, v);
  t.length = t.from = t.to = static_cast<int64_t>(length);
  if (window && window->elements() != t.length)
    op.refuse("has a window of ", window->elements(), " for frames of ", t.length);
  if (op.flag("onesided")) {
    if (t.in == 2) op.refuse("\"onesided\" of complex numbers is not supported");
    t.to = t.length / 2 + 1;
  }
  const Tensor w = weights_of(op, t, window ? window->as<float>() : nullptr);
  const Json config{
      {"filters", t.to * 2}, {"kernel_size", t.length}, {"strides", static_cast<int64_t>(step)}, {"use_bias", false}};
  const Node y = op.weighted("Conv1D", config, {op.x(0)}, {{"kernel", reshaped(w, {t.length, t.in, t.to * 2})}});
  op.give(0, seen_as(op, y, {op.shape(y)[1], t.to, 2}), {v.dims[0]});
}

}  // namespace

constexpr Row signal_table[] = {
    {"DFT", dft, "input~ dft_length? axis?@20 > output; axis@-19=1 inverse=0|1 onesided=0|1", slow},
    {"STFT", stft, "signal~ frame_step window~? frame_length? > output; onesided=1|0", slow}};
const std::span<const Row> signal_rows = signal_table;

}  // namespace dl4::io::onnx
