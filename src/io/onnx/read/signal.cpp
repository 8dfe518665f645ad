// ONNX's Fourier transforms, as products with cosines and sines.
// ONNX's ops that are evaluated while reading: windows and reinterpreted numbers.
#include <cmath>
#include <numbers>

#include "io/onnx/read/math.hpp"
#include "io/onnx/types.hpp"

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

int64_t whole_number(const Op &op, size_t i, int64_t least, int64_t most) {
  const double n = op.number(i, 0);
  if (!(n >= static_cast<double>(least) && n <= static_cast<double>(most)) || n != std::floor(n))
    op.refuse("has ", n, " as its input ", i, "; expected a whole number from ", least, " to ", most);
  return static_cast<int64_t>(n);
}

// ---- audio --------------------------------------------------------------------------------------------------------

constexpr int64_t longest = 1 << 20;

void need_float_output(const Op &op) {
  const auto type = static_cast<Type>(op.integer("output_datatype"));
  if (type != Type::float32 && type != Type::float64) op.refuse("of ", type, " is not supported");
}

// level - once cos(angle) + twice cos(2 angle).
void windowed(const Op &op, double level, double once, double twice) {
  need_float_output(op);
  const int64_t n = whole_number(op, 0, 0, longest), period = op.flag("periodic") ? n : n - 1;
  if (n == 1 && period == 0) op.refuse("of one place that is not periodic divides by zero");
  op.take(4 * n);
  Tensor t = make_tensor(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period);
    t.as<float>()[i] = static_cast<float>(level - once * std::cos(angle) + twice * std::cos(2 * angle));
  }
  op.give_constant(0, std::move(t));
}

void mel_weights(const Op &op) {
  need_float_output(op);
  const int64_t bins = whole_number(op, 0, 1, 1 << 16), length = whole_number(op, 1, 1, longest),
                rate = whole_number(op, 2, 1, INT32_MAX);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(op.number(3, 0)), step = (mel(op.number(4, 0)) - low) / static_cast<double>(bins + 2);
  const int64_t rows = length / 2 + 1;
  Ints edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double place = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(place >= 0 && place <= static_cast<double>(rows))) op.refuse("has frequencies outside of the spectrum");
    edges.push_back(static_cast<int64_t>(place));
  }
  op.take(checked_mul(rows, bins, 4));
  Tensor t = make_zeros(DType::f32, {rows, bins});
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t from = edges[static_cast<size_t>(i)], at = edges[static_cast<size_t>(i) + 1],
                  to = edges[static_cast<size_t>(i) + 2];
    if (at >= rows || to < at || at < from) op.refuse("has frequencies outside of the spectrum");
    const auto put = [&](int64_t row, double v) { t.as<float>()[row * bins + i] = static_cast<float>(v); };
    if (at == from) put(at, 1);
    for (int64_t k = from; at > from && k <= at; ++k)
      put(k, static_cast<double>(k - from) / static_cast<double>(at - from));
    for (int64_t k = at; k < to; ++k) put(k, static_cast<double>(to - k) / static_cast<double>(to - at));
  }
  op.give_constant(0, std::move(t));
}

// ---- indices ------------------------------------------------------------------------------------------------------

void eye_like(const Op &op) {
  const Value &v = op.in(0);
  if (v.rank() != 2) fail(Code::corrupt_file, "expects a matrix");
  const auto said = static_cast<Type>(op.integer("dtype", 0));
  const Type type = said == Type::none ? v.onnx_type() : said;
  const DType as = stands_for(type);
  const int64_t rows = v.dims[0].factor, columns = v.dims[1].factor, k = op.integer("k");
  if (!v.dims[0].known() || !v.dims[1].known()) {
    if (k < -max_dim || k > max_dim) op.refuse("\"k\" of ", k, " is not supported");
    const Node diagonal = op.layer("ExpandDims", {{"axis", 1}},
                                   {by_number(op, "BroadcastAdd", op.places(v.dims[0]), static_cast<double>(k))});
    op.give(0, op.cast(op.layer("Equal", {}, {diagonal, op.places(v.dims[1])}), as), v.dims);
    return op.of_type(0, type);
  }
  op.take(checked_mul(rows, columns, size_of(as)));
  Tensor t = make_zeros(as, {rows, columns});
  for (int64_t i = 0; i < rows; ++i) {
    if (k < -i || k >= columns - i) continue;
    const int64_t at = i * columns + i + k;
    if (as == DType::f32)
      t.as<float>()[at] = 1;
    else
      std::ranges::copy(tensor_of({1}, as, {}).memory(), t.data.get() + at * size_of(as));
  }
  op.give_constant(0, std::move(t), type);
}

// ---- BitCast -------------------------------------------------------------------------------------------------------

int bits_each(const Op &op, Type t) {
  const bool other = !is_integer(t) && t != Type::float32 && t != Type::boolean;
  if (other || bits_of(t) < 8) op.refuse("of ", t, " is not supported");
  return bits_of(t);
}

void bit_cast(const Op &op) {
  const Type from = op.in(0).onnx_type(), to = static_cast<Type>(op.integer("to"));
  if (from == to) return op.give_value(0, op.in(0));
  const int n = bits_each(op, from);
  if (n != bits_each(op, to)) fail(Code::corrupt_file, "from ", from, " to ", to, ": of another number of bits");
  const auto given = op.constant(0);
  if (!given && is_integer(from) && is_integer(to)) {
    op.give(0, wrapped(op, op.x(0), to), op.in(0).dims);
    return op.of_type(0, to);
  }
  if (!given) op.refuse("of numbers that the model computes is not supported; they must be constants");
  op.take(checked_mul(given->elements(), 16));
  const uint64_t mask = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  std::vector<uint64_t> bits;
  if (given->dtype == DType::f32)
    for (int64_t i = 0; i < given->elements(); ++i) bits.push_back(std::bit_cast<uint32_t>(given->as<float>()[i]));
  else
    for (int64_t v : ints_of(*given)) bits.push_back(static_cast<uint64_t>(v) & mask);
  if (to == Type::float32) {
    Tensor t = make_tensor(DType::f32, given->shape);
    for (size_t i = 0; i < bits.size(); ++i) t.as<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(bits[i]));
    return op.give_constant(0, std::move(t), to);
  }
  Ints list;
  for (uint64_t b : bits) {
    list.push_back(wrapped(to, static_cast<int64_t>(b)));
    if (!holds(to, list.back())) op.refuse("of ", b, " to ", to, " is not supported");
  }
  op.give_constant(0, tensor_of(list, stands_for(to), given->shape), to);
}

}  // namespace

constexpr Row signal_table[] = {
    {"DFT", dft, "input~ dft_length? axis?@20 > output; axis@-19=1 inverse=0|1 onesided=0|1", slow},
    {"STFT", stft, "signal~ frame_step window~? frame_length? > output; onesided=1|0", slow},
    {"HannWindow", [](const Op &op) { windowed(op, 0.5, 0.5, 0); }, "size > output; output_datatype=1 periodic=1|0"},
    {"HammingWindow", [](const Op &op) { windowed(op, 25.0 / 46, 21.0 / 46, 0); },
     "size > output; output_datatype=1 periodic=1|0"},
    {"BlackmanWindow", [](const Op &op) { windowed(op, 0.42, 0.5, 0.08); },
     "size > output; output_datatype=1 periodic=1|0"},
    {"MelWeightMatrix", mel_weights,
     "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz > output; "
     "output_datatype=1"},
    {"EyeLike", eye_like, "input > output; dtype:int k=0"},
    {"BitCast", bit_cast, "input > output; to:int!"},
};
const std::span<const Row> signal_rows = signal_table;

}  // namespace dl4::io::onnx
