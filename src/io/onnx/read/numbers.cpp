// ONNX's ops that are computed while the file is read: windows, and what has as many places as numbers say.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <numeric>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/types.hpp"

namespace dl4::io::onnx {
namespace {

Tensor numbers_of(const Op &op, size_t i) {
  const auto t = op.constant(i);
  if (!t)
    op.refuse("of numbers that the model computes is not supported: its output has as many places as they say; ",
              "they must be constants");
  return *t;
}

int64_t whole(const Op &op, size_t i, int64_t least, int64_t most) {
  const double n = op.number(i, 0);
  if (!(n >= static_cast<double>(least) && n <= static_cast<double>(most)) || n != std::floor(n))
    op.refuse("has ", n, " as its input ", i, "; expected a whole number from ", least, " to ", most);
  return static_cast<int64_t>(n);
}

// ---- of sound ------------------------------------------------------------------------------------------------------

constexpr int64_t longest = 1 << 20;

void need_float_output(const Op &op) {
  const auto type = static_cast<Type>(op.integer("output_datatype", 1));
  if (type != Type::float32 && type != Type::float64) op.refuse("of ", type, " is not supported");
}

// The first of the numbers, less the second times the cosine, plus the third times that of twice the angle.
void window(const Op &op, double level, double once, double twice) {
  need_float_output(op);
  const int64_t n = whole(op, 0, 0, longest), period = op.integer("periodic", 1) != 0 ? n : n - 1;
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

// ---- places --------------------------------------------------------------------------------------------------------

void eye_like(const Op &op) {
  const Value &v = op.in(0);
  if (v.rank() != 2) fail(Code::corrupt_file, "expects a matrix");
  const auto said = static_cast<Type>(op.integer("dtype", 0));
  const Type type = said == Type::none ? v.onnx_type() : said;
  const DType as = stands_for(type);
  const int64_t rows = v.dims[0].factor, columns = v.dims[1].factor, k = op.integer("k", 0);
  if (!v.dims[0].known() || !v.dims[1].known()) {
    if (k < -max_dim || k > max_dim) op.refuse("\"k\" of ", k, " is not supported");
    const Node diagonal = op.layer("ExpandDims", {{"axis", 1}},
                                   {by_number(op, "BroadcastAdd", op.places(v.dims[0]), static_cast<double>(k))});
    op.give(0, op.cast(op.layer("Equal", Json::object(), {diagonal, op.places(v.dims[1])}), as), v.dims);
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

bool is_zero(const Tensor &t, int64_t i) {
  if (t.dtype == DType::f32) return t.as<float>()[i] == 0;
  const auto each = static_cast<size_t>(size_of(t.dtype));
  const std::byte *at = t.data.get() + static_cast<size_t>(i) * each;
  return std::all_of(at, at + each, [](std::byte b) { return b == std::byte{0}; });
}

void non_zero(const Op &op) {
  const Tensor t = numbers_of(op, 0);
  if (t.shape.rank() == 0) op.refuse("of a value without axes is not supported");
  op.take(checked_mul(t.elements(), 8, t.shape.rank() + 1));
  Ints places;
  for (int64_t i = 0; i < t.elements(); ++i)
    if (!is_zero(t, i)) places.push_back(i);
  const auto n = static_cast<int64_t>(places.size());
  Tensor to = make_tensor(DType::i64, {t.shape.rank(), n});
  for (int axis = t.shape.rank(); axis-- > 0;)
    for (size_t i = 0; i < places.size(); ++i) {
      to.as<int64_t>()[axis * n + static_cast<int64_t>(i)] = places[i] % t.shape[axis];
      places[i] /= t.shape[axis];
    }
  op.give_constant(0, std::move(to), Type::int64);
}

void compress(const Op &op) {
  const Tensor condition = numbers_of(op, 1);
  if (condition.dtype != DType::boolean || condition.shape.rank() != 1)
    fail(Code::corrupt_file, "expects a list of flags");
  Value &v = op.in(0);
  const bool flat = !op.node.find("axis");
  const auto axis = flat ? size_t{0} : static_cast<size_t>(op.axis(0, v.rank()));
  op.take(checked_mul(condition.elements(), place_bytes));
  Ints places;
  for (int64_t i = 0; i < condition.elements(); ++i)
    if (condition.as<uint8_t>()[i]) places.push_back(i);
  const Perm perm = flat ? plain(v.rank()) : v.perm();
  Node x = op.as(v, perm);
  if (flat) x = op.reshape(x, {-1});
  const int at = flat ? 0 : inverse(perm)[axis];
  if (const int64_t n = op.shape(x)[at]; n != free_dim && condition.elements() > n)
    fail(Code::corrupt_file, "has ", condition.elements(), " flags for ", n, " places");
  const Node y = places.empty() ? op.cut(x, at, 0, 0) : op.layer("Take", {{"indices", places}, {"axis", at}}, {x});
  if (flat) return op.give(0, y);
  std::vector<Dim> dims = v.dims;
  dims[axis] = {static_cast<int64_t>(places.size()), {}};
  op.give(0, y, dims, perm);
}

// ---- Unique --------------------------------------------------------------------------------------------------------

// Element i as a number that is ordered as the elements are.
template <class T>
int compared(const Tensor &t, int64_t a, int64_t b) {
  const T x = t.as<T>()[a], y = t.as<T>()[b];
  return x < y ? -1 : y < x ? 1 : 0;
}
int compared(const Tensor &t, int64_t a, int64_t b) {
  switch (t.dtype) {
    case DType::f32:
      return compared<float>(t, a, b);
    case DType::i32:
      return compared<int32_t>(t, a, b);
    case DType::i64:
      return compared<int64_t>(t, a, b);
    default:
      return compared<uint8_t>(t, a, b);
  }
}

void unique(const Op &op) {
  const Tensor t = numbers_of(op, 0);
  if (t.dtype == DType::f32 &&
      std::any_of(t.as<float>(), t.as<float>() + t.elements(), [](float f) { return std::isnan(f); }))
    op.refuse("of NaN is not supported");
  // Slices along the axis, of `before` blocks of `inner` elements each.
  const bool flat = !op.node.find("axis");
  const int axis = flat ? 0 : static_cast<int>(op.axis(0, t.shape.rank()));
  const int64_t n = flat ? t.elements() : t.shape[axis];
  const int64_t inner = flat ? 1 : t.shape.elements(axis + 1, t.shape.rank()),
                before = flat ? 1 : t.shape.elements(0, axis);
  op.take(checked_mul(checked_add(n, 1), place_bytes));
  op.take(t.bytes());
  const auto order = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < before; ++o)
      for (int64_t i = 0; i < inner; ++i)
        if (const int c = compared(t, (o * n + a) * inner + i, (o * n + b) * inner + i)) return c;
    return 0;
  };
  Ints sorted(static_cast<size_t>(n)), first, counts, back(static_cast<size_t>(n));
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) { return order(a, b) < 0; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || order(sorted[i - 1], sorted[i]) != 0) first.push_back(sorted[i]), counts.push_back(0);
    ++counts.back(), back[static_cast<size_t>(sorted[i])] = static_cast<int64_t>(first.size()) - 1;
  }
  if (op.integer("sorted", 1) == 0) {  // in the order in which they come
    Ints by(first.size()), place(first.size()), old_first = first, old_counts = counts;
    std::iota(by.begin(), by.end(), 0);
    const auto at = [&](int64_t i) { return old_first[static_cast<size_t>(i)]; };
    std::sort(by.begin(), by.end(), [&](int64_t a, int64_t b) { return at(a) < at(b); });
    for (size_t i = 0; i < by.size(); ++i) {
      place[static_cast<size_t>(by[i])] = static_cast<int64_t>(i);
      first[i] = at(by[i]), counts[i] = old_counts[static_cast<size_t>(by[i])];
    }
    for (int64_t &b : back) b = place[static_cast<size_t>(b)];
  }
  const auto m = static_cast<int64_t>(first.size());
  Tensor y = make_tensor(t.dtype, flat ? Shape{m} : t.shape.with(axis, m));
  const auto block = static_cast<size_t>(inner * size_of(t.dtype));
  for (int64_t o = 0; o < before && block > 0; ++o)
    for (int64_t i = 0; i < m; ++i)
      std::memcpy(y.data.get() + static_cast<size_t>(o * m + i) * block,
                  t.data.get() + static_cast<size_t>(o * n + first[static_cast<size_t>(i)]) * block, block);
  op.give_constant(0, std::move(y), op.in(0).type);
  op.give_constant(1, tensor_of(first), Type::int64);
  op.give_constant(2, tensor_of(back), Type::int64);
  op.give_constant(3, tensor_of(counts), Type::int64);
}

// ---- NonMaxSuppression ---------------------------------------------------------------------------------------------

struct Box {
  float y0, x0, y1, x1;

  float area() const { return (y1 - y0) * (x1 - x0); }
};

constexpr int64_t most_pairs = int64_t{1} << 28;  // of boxes that are compared

Box box_of(const float *p, bool centres) {
  const auto [a, b, c, d] = std::array{p[0], p[1], p[2], p[3]};
  if (centres) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

// In float32, as ONNX Runtime has it.
bool overlap(const Box &a, const Box &b, float most) {
  const float x0 = std::max(a.x0, b.x0), x1 = std::min(a.x1, b.x1), y0 = std::max(a.y0, b.y0),
              y1 = std::min(a.y1, b.y1);
  if (x1 <= x0 || y1 <= y0) return false;
  const float both = (x1 - x0) * (y1 - y0), area_a = a.area(), area_b = b.area(), all = area_a + area_b - both;
  if (both <= 0 || area_a <= 0 || area_b <= 0 || all <= 0) return false;
  return both / all > most;
}

void non_max_suppression(const Op &op) {
  const Tensor boxes = numbers_of(op, 0), scores = numbers_of(op, 1);
  if (boxes.dtype != DType::f32 || scores.dtype != DType::f32 || boxes.shape.rank() != 3 || scores.shape.rank() != 3 ||
      boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2])
    fail(Code::corrupt_file, "expects boxes (B, N, 4) and scores (B, classes, N)");
  const double most = std::clamp(op.number(2, 0), 0.0, 1e9);
  const auto iou = static_cast<float>(op.number(3, 0)), least = static_cast<float>(op.number(4, 0));
  if (!(iou >= 0 && iou <= 1)) fail(Code::corrupt_file, "has the threshold ", iou, "; expected one from 0 to 1");
  const bool centres = op.integer("center_point_box", 0) != 0;
  const int64_t n = boxes.shape[1], classes = scores.shape[1];
  op.take(checked_mul(scores.elements(), place_bytes));
  if (checked_mul(scores.elements(), static_cast<int64_t>(std::min(most, static_cast<double>(n)))) > most_pairs)
    op.refuse("of ", scores.elements(), " boxes, up to ", most, " of each class, is not supported");
  Ints out;
  for (int64_t b = 0; b < boxes.shape[0]; ++b)
    for (int64_t c = 0; c < classes; ++c) {
      const float *score = scores.as<float>() + (b * classes + c) * n;
      Ints left;
      for (int64_t i = 0; i < n; ++i)
        if (!op.has(4) || score[i] > least) left.push_back(i);
      std::stable_sort(left.begin(), left.end(), [&](int64_t i, int64_t k) { return score[i] > score[k]; });
      std::vector<Box> chosen;
      for (int64_t i : left) {
        if (static_cast<double>(chosen.size()) >= most) break;
        const Box box = box_of(boxes.as<float>() + (b * n + i) * 4, centres);
        if (std::any_of(chosen.begin(), chosen.end(), [&](const Box &other) { return overlap(box, other, iou); }))
          continue;
        chosen.push_back(box);
        out.insert(out.end(), {b, c, i});
      }
    }
  op.give_constant(0, tensor_of(out, DType::i64, {static_cast<int64_t>(out.size()) / 3, 3}), Type::int64);
}

// ---- BitCast -------------------------------------------------------------------------------------------------------

int bits_each(const Op &op, Type t) {
  switch (t) {
    case Type::uint8:
    case Type::int8:
    case Type::boolean:
      return 8;
    case Type::uint16:
    case Type::int16:
      return 16;
    case Type::float32:
    case Type::int32:
    case Type::uint32:
      return 32;
    case Type::int64:
    case Type::uint64:
      return 64;
    default:
      op.refuse("of ", t, " is not supported");
  }
}

// A number whose low bits are these, of a type of so many.
int64_t number_of(Type t, uint64_t bits) {
  switch (t) {
    case Type::int8:
      return static_cast<int8_t>(bits);
    case Type::int16:
      return static_cast<int16_t>(bits);
    case Type::int32:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

void bit_cast(const Op &op) {
  const Type from = op.in(0).onnx_type(), to = static_cast<Type>(op.integer("to", 0));
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
    list.push_back(number_of(to, b));
    if (!holds(to, list.back())) op.refuse("of ", b, " to ", to, " is not supported");
  }
  op.give_constant(0, tensor_of(list, stands_for(to), given->shape), to);
}

}  // namespace

std::span<const Row> number_rows() {
  static constexpr Row rows[] = {
      {"HannWindow", [](const Op &op) { window(op, 0.5, 0.5, 0); }},
      {"HammingWindow", [](const Op &op) { window(op, 25.0 / 46, 21.0 / 46, 0); }},
      {"BlackmanWindow", [](const Op &op) { window(op, 0.42, 0.5, 0.08); }},
      {"MelWeightMatrix", mel_weights},
      {"EyeLike", eye_like},
      {"NonZero", non_zero},
      {"Compress", compress},
      {"Unique", unique},
      {"NonMaxSuppression", non_max_suppression},
      {"BitCast", bit_cast},
  };
  return rows;
}

}  // namespace dl4::io::onnx
