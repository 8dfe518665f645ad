// ONNX's ops that are evaluated while reading: windows and reinterpreted numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/types.hpp"

namespace dl4::io::onnx {
namespace {

int64_t whole(const Op &op, size_t i, int64_t least, int64_t most) {
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
void window(const Op &op, double level, double once, double twice) {
  need_float_output(op);
  const int64_t n = whole(op, 0, 0, longest), period = op.flag("periodic") ? n : n - 1;
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
  const int64_t bins = whole(op, 0, 1, 1 << 16), length = whole(op, 1, 1, longest), rate = whole(op, 2, 1, INT32_MAX);
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

constexpr Row number_table[] = {
    {"HannWindow", [](const Op &op) { window(op, 0.5, 0.5, 0); }, "size > output; output_datatype=1 periodic=1|0"},
    {"HammingWindow", [](const Op &op) { window(op, 25.0 / 46, 21.0 / 46, 0); },
     "size > output; output_datatype=1 periodic=1|0"},
    {"BlackmanWindow", [](const Op &op) { window(op, 0.42, 0.5, 0.08); },
     "size > output; output_datatype=1 periodic=1|0"},
    {"MelWeightMatrix", mel_weights,
     "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz > output; "
     "output_datatype=1"},
    {"EyeLike", eye_like, "input > output; dtype:int k=0"},
    {"BitCast", bit_cast, "input > output; to:int!"},
};
const std::span<const Row> number_rows = number_table;

}  // namespace dl4::io::onnx
