// ONNX's Slice: by numbers that are known while the file is read, and by sizes of free axes.
// Pad and CenterCropPad.
#include <cmath>

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

// One axis of a free size. `end`: none is the axis's end.
Node cut_free(const Op &op, Node x, int at, int64_t begin, std::optional<int64_t> end, int64_t step) {
  begin = std::clamp(begin, -max_dim, max_dim);  // no axis is longer
  if (end) end = std::clamp(*end, -max_dim, max_dim);
  if (step == -1 && begin == -1 && !end) return flipped(op, x, at);
  if (step != 1) op.refuse("with a step of ", step, " over a free axis is not supported");
  if (end && *end < 0) x = flipped(op, op.cut(flipped(op, x, at), at, -*end, -1), at), end.reset();
  if (begin < 0) {
    if (end) op.refuse("from ", begin, " to ", *end, " of a free axis is not supported");
    return flipped(op, op.cut(flipped(op, x, at), at, 0, -begin), at);
  }
  if (end && *end <= begin) return op.cut(x, at, 0, 0);
  if (begin == 0 && !end) return x;
  return op.cut(x, at, begin, end ? *end - begin : -1);
}

// The places of an axis of n that a slice takes: from the first on, so many of them.
struct Taken {
  int64_t first, count, step;

  Taken(int64_t n, int64_t begin, int64_t end, int64_t by) : step(std::clamp(by, -n - 1, n + 1)) {
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const auto bound = [&](int64_t v, int64_t least) { return std::clamp(v < 0 ? v + n : v, least, high); };
    first = bound(begin, std::max<int64_t>(low, 0));
    const int64_t last = bound(end, low);
    count = n == 0     ? 0
            : step > 0 ? std::max<int64_t>((last - first + step - 1) / step, 0)
                       : std::max<int64_t>((first - last - step - 1) / -step, 0);
  }
  Ints places(const Op &op) const {
    if (count > most_places) op.refuse("takes ", count, " places with a step of ", step);
    op.take(checked_mul(count, place_bytes));
    Ints list;
    for (int64_t i = 0; i < count; ++i) list.push_back(first + i * step);
    return list;
  }
};

bool is_endless(const Dim &end, int64_t step) {
  return end.known() && (step > 0 ? end.factor > max_dim : end.factor < -max_dim);
}

// What a slice takes of an axis, where any of them depends on a free size.
struct Stretch {
  Dim first, count;

  Stretch(Symbols &s, const Dim &n, const Dim &begin, const Dim &end, int64_t step) {
    const Dim none{0, {}}, one{1, {}};
    const auto within = [&](const Dim &v) {  // counted from the front, bounded so that sums fit
      const Dim d = v.known() ? Dim{std::clamp(v.factor, -max_dim, max_dim), {}} : v;
      return s.sum(d, s.less(d, none) * n);
    };
    const Dim low = step > 0 ? none : Dim{-1, {}}, high = step > 0 ? n : s.sum(n, one, -1);
    first = s.smallest(s.largest(within(begin), none), high);
    const Dim last = is_endless(end, step) ? (step > 0 ? high : low) : s.smallest(s.largest(within(end), low), high);
    const Dim reach = step > 0 ? s.sum(last, first, -1) : s.sum(first, last, -1);
    const Dim stride{std::clamp(step > 0 ? step : -step, int64_t{1}, max_dim), {}};
    count = s.largest(*s.quotient(s.sum(reach, Dim{stride.factor - 1, {}}), stride), none);
  }
};

// Does cut_free take it? It bounds no end.
bool is_cut(int64_t begin, bool to_end, int64_t end, int64_t step) {
  if (step == -1) return begin == -1 && to_end;
  return step == 1 && (to_end || (begin >= 0 && end < 0) || (begin == 0 && end == 1));
}

// What a slice takes of an axis.
struct AxisSlice {
  size_t axis;
  Dim start, end;
  int64_t step;

  bool is_known() const { return start.known() && end.known(); }
};

std::vector<AxisSlice> slices_of(const Op &op) {
  const auto list = [&](const char *name, size_t i) -> std::optional<std::vector<Dim>> {
    if (const auto given = op.integers(name)) {
      std::vector<Dim> dims;
      for (int64_t n : *given) dims.push_back({n, {}});
      return dims;
    }
    if (!op.has(i)) return {};
    const auto given = op.sizes(i);
    if (!given) op.refuse("its \"", name, "\" are computed by the model; they must be constants or sizes");
    return given;
  };
  const auto starts = list("starts", 1), ends = list("ends", 2), axes = list("axes", 3), steps = list("steps", 4);
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size()))
    fail(Code::corrupt_file, "has lists of different lengths");
  for (const auto *numbers : {&axes, &steps})
    if (*numbers && !std::all_of((*numbers)->begin(), (*numbers)->end(), [](const Dim &d) { return d.known(); }))
      op.refuse("with an axis or a step that depends on a free size is not supported");
  std::vector<AxisSlice> all;
  for (size_t i = 0; i < starts->size(); ++i) {
    const int axis = op.axis_of(axes ? (*axes)[i].factor : static_cast<int64_t>(i), op.in(0).rank());
    all.push_back({static_cast<size_t>(axis), (*starts)[i], (*ends)[i], steps ? (*steps)[i].factor : 1});
    if (all.back().step == 0) fail(Code::corrupt_file, "has a step of 0");
  }
  return all;
}

// False: not all numbers are known.
bool slice_elements(const Op &op, const std::vector<AxisSlice> &slices) {
  const Value &v = op.in(0);
  const auto listed = v.rank() > 0 ? op.elements(0) : std::nullopt;
  if (!listed || listed->empty() || !std::ranges::all_of(slices, &AxisSlice::is_known)) return false;
  std::vector<Ints> places(v.dims.size());
  std::vector<Dim> dims = v.dims;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    for (int64_t i = 0; i < dims[axis].factor; ++i) places[axis].push_back(i);
  for (const AxisSlice &s : slices) {
    const Taken some(v.dims[s.axis].factor, s.start.factor, s.end.factor, s.step);
    places[s.axis] = some.places(op), dims[s.axis] = {some.count, {}};
  }
  op.give_elements(0, elements_at(*listed, v.dims, places), std::move(dims), v.onnx_type());
  return true;
}

// Axis `at` of x, of size n from then on.
Node sliced(const Op &op, Node x, int at, Dim &n, const AxisSlice &s) {
  const Dim had = n;
  const bool is_value = x != graph::no_node;
  if (had.known() && s.is_known()) {
    const Taken some(had.factor, s.start.factor, s.end.factor, s.step);
    if (some.count == had.factor && s.step == 1) return x;
    n = {some.count, {}};
    if (!is_value) return x;
    if (s.step == 1 || some.count < 2) return op.cut(x, at, some.count == 0 ? 0 : some.first, some.count);
    return op.layer("Take", {{"indices", some.places(op)}, {"axis", at}}, {x});
  }
  const Stretch some(op.symbols(), had, s.start, s.end, s.step);
  if (some.count == had && s.step == 1) return x;
  n = some.count;
  if (!is_value) return x;
  const bool to_end = s.end == had || is_endless(s.end, s.step);
  if (!had.known() && s.start.known() && (to_end || s.end.known()) &&
      is_cut(s.start.factor, to_end, s.end.factor, s.step))
    return cut_free(op, x, at, s.start.factor, to_end ? std::nullopt : std::optional(s.end.factor), s.step);
  Node places = op.places(some.count);
  if (s.step != 1) places = by_number(op, "BroadcastMultiply", places, static_cast<double>(s.step));
  if (some.first != Dim{0, {}}) places = plus(op, places, op.number(some.first));
  return op.layer("Take", {{"axis", at}}, {x, places});
}

void slice(const Op &op) {
  if ((op.has(1) && !op.sizes(1)) || (op.has(2) && !op.sizes(2))) return slice_at_numbers(op);
  const auto slices = slices_of(op);
  if (slice_elements(op, slices)) return;
  Value &v = op.in(0);
  const Perm perm = v.perm(), back = inverse(perm);
  Node x = v.filled ? graph::no_node : op.as(v, perm);
  std::vector<Dim> dims = v.dims;
  for (const AxisSlice &s : slices) x = sliced(op, x, back[s.axis], dims[s.axis], s);
  if (!v.filled) return op.give(0, x, dims, perm);
  Value some = v;
  some.dims = dims;
  op.give_value(0, std::move(some));
}

}  // namespace

constexpr Row slice_table[] = {
    {"Slice", slice,
     "data starts@10 ends@10 axes?@10 steps?@10 > output=data; axes@-9:ints ends@-9:ints! "
     "starts@-9:ints!"},
};
const std::span<const Row> slice_rows = slice_table;

Json margins_json(const Margins &margins) { return margins.size() == 1 ? Json(margins[0]) : Json(margins); }

Margins inner(Margins ends) {
  ends.insert(ends.begin(), {0, 0});
  ends.push_back({0, 0});
  return ends;
}

Node with_ends(const Op &op, Node x, const Margins &ends, double number) {
  Margins add;
  for (const auto &[before, after] : ends) {
    const int64_t begin = std::max<int64_t>(-before, 0), end = std::max<int64_t>(-after, 0);
    if (begin > 0 || end > 0) x = op.cut(x, static_cast<int>(add.size()), begin, -1 - end);
    add.push_back({std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)});
  }
  if (std::ranges::all_of(add, [](const auto &a) { return a[0] == 0 && a[1] == 0; })) return x;
  if (std::isfinite(number)) return op.layer("Pad", {{"pad_width", add}, {"constant_values", number}}, {x});
  const Node zeros = op.layer("Pad", {{"pad_width", add}}, {x}), here = op.layer("Equal", {}, {x, x});
  const Node ones = op.cast(op.layer("Where", {{"x1", 1}, {"x2", 1}}, {here}), DType::f32);
  return op.layer("Where", {},
                  {op.layer("Pad", {{"pad_width", add}}, {ones}), zeros, op.constant_node(scalar(number))});
}

namespace {

// "axes", an attribute or input 3; all axes if omitted.
Ints axes_of(const Op &op) {
  const int rank = op.in(0).rank();
  Ints axes;
  if (const auto given = op.integers("axes", 3))
    for (int64_t a : *given) axes.push_back(op.axis_of(a, rank));
  else
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

// The fill value of "constant".
double filling(const Op &op) {
  const double number = op.opset() < 11 ? op.real("value") : op.number(2, 0);
  if (op.in(0).dtype != DType::f32 && !(std::abs(number) <= 0x1p53)) op.refuse("of ", op.in(0).dtype, " with ", number);
  return number;
}

// Source position of each position of the result, along an axis of known size.
Ints sources(const Op &op, const std::string &mode, int64_t n, int64_t before, int64_t after) {
  Ints from;
  if (before > max_dim || after > max_dim || n + before + after > 1 << 20)
    op.refuse("adds ", before, " and ", after, " places");
  op.take(checked_mul(checked_add(n, before, after), place_bytes));
  for (int64_t i = -before; i < n + after; ++i) {
    int64_t at = i;
    if (mode == "edge") at = std::clamp<int64_t>(i, 0, n - 1);
    if (mode == "wrap") at = ((i % n) + n) % n;
    if (mode == "reflect") {
      const int64_t period = std::max<int64_t>(2 * (n - 1), 1);
      at = ((i % period) + period) % period;
      at = at < n ? at : period - at;
    }
    from.push_back(at);
  }
  return from;
}

// Pads with zeros or a number.
void pad_constant(const Op &op, const Margins &pads, double number) {
  Value &v = op.in(0);
  if (v.rank() > 5) op.refuse("over a value of ", v.rank(), " axes is not supported");
  const Perm perm = v.perm();
  Margins ends;  // in x's axis order
  std::vector<Dim> dims = v.dims;
  for (int axis : perm) {
    ends.push_back(pads[static_cast<size_t>(axis)]);
    if (ends.back()[0] != 0 || ends.back()[1] != 0) dims[static_cast<size_t>(axis)] = Dim{1, {op.r.fresh()}};
  }
  if (dims == v.dims) return op.give_value(0, v);
  const bool small = v.dtype == DType::u8 || v.dtype == DType::boolean;  // types that the layer doesn't support
  const Node x = small ? op.cast(op.as(v, perm), DType::i32) : op.as(v, perm);
  op.give(0, op.cast(with_ends(op, x, ends, number), v.dtype), dims, perm);
}

// For an axis or padding of free size: computes the source position of each position. dims: of x.
Node padded(const Op &op, Node x, size_t at, std::vector<Dim> dims, const Dim &before, const Dim &after,
            const std::string &mode, double number) {
  Symbols &s = op.symbols();
  const Dim one{1, {}}, none{0, {}}, n = dims[at];
  Node place = op.places(s.largest(s.sum(s.sum(n, before), after), none));
  if (before != none) place = minus(op, place, op.number(before));
  const Node last = op.number(s.sum(n, one, -1)), zero = op.number(none);
  const auto bounded = [&](Node i) {
    return op.layer("BroadcastMinimum", {}, {op.layer("BroadcastMaximum", {}, {i, zero}), last});
  };
  const auto size = [&](Node i) { return op.layer("Absolute", {}, {i}); };
  Node from = mode == "wrap"      ? op.layer("Mod", {}, {place, op.number(n)})
              : mode == "reflect" ? minus(op, last, size(minus(op, last, size(place))))
                                  : bounded(place);
  if (mode == "constant") {  // position 0 of those it precedes: there may be no others
    const Node fill = op.constant_node(scalar(number, op.r.graph().dtype(x)));
    dims[at] = one;
    x = op.layer("Concatenate", {{"axis", at}}, {op.spread(fill, dims), x});
    from =
        op.layer("Where", {{"x2", 0}}, {op.layer("Equal", {}, {place, from}), by_number(op, "BroadcastAdd", from, 1)});
  }
  return op.layer("Take", {{"axis", at}}, {x, from});
}

// Returns whether it was handled here.
bool pad_free(const Op &op, const std::string &mode) {
  Value &v = op.in(0);
  const auto list = op.says("pads") || !op.has(1) ? std::nullopt : op.sizes(1);
  if (!list || v.filled) return false;
  const Ints axes = axes_of(op);
  if (list->size() != 2 * axes.size()) return false;
  const Dim none{0, {}};
  bool free = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &before = (*list)[i], &after = (*list)[i + axes.size()];
    const bool known_axis = v.dims[static_cast<size_t>(axes[i])].known();
    free |=
        !before.known() || !after.known() || (mode != "constant" && !known_axis && (before != none || after != none));
  }
  if (!free) return false;
  const double number = mode == "constant" ? filling(op) : 0;
  const Perm perm = v.perm();
  Node x = op.as(v, perm);
  std::vector<Dim> dims = v.dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &before = (*list)[i], &after = (*list)[i + axes.size()];
    const auto axis = static_cast<size_t>(axes[i]);
    if (before == none && after == none) continue;
    std::vector<Dim> lie;  // in x's axis order
    for (int i : perm) lie.push_back(dims[static_cast<size_t>(i)]);
    x = padded(op, x, static_cast<size_t>(inverse(perm)[axis]), std::move(lie), before, after, mode, number);
    dims[axis] = op.symbols().sum(op.symbols().sum(dims[axis], before), after);
  }
  op.give(0, x, dims, perm);
  return true;
}

void pad(const Op &op) {
  Value &v = op.in(0);
  if (pad_free(op, op.string("mode"))) return;
  const auto list = op.integers("pads", 1);
  const Ints axes = axes_of(op);
  if (!list || list->size() != 2 * axes.size()) fail(Code::corrupt_file, "has no pads before and after each axis");
  Margins pads(static_cast<size_t>(v.rank()), {0, 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = (*list)[i], after = (*list)[i + axes.size()];
    if (std::min(before, after) < -max_dim || std::max(before, after) > max_dim)
      op.refuse("has pads of ", before, " and ", after);
    pads[static_cast<size_t>(axes[i])] = {before, after};
  }
  const std::string mode = op.string("mode");
  if (mode == "constant") {
    return pad_constant(op, pads, filling(op));
  }
  const Perm perm = v.perm();
  Node x = op.as(v, perm);
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i][0] == 0 && pads[i][1] == 0) continue;
    if (!v.dims[i].known()) op.refuse("\"mode\" ", mode, " along a free axis is not supported");
    if (v.dims[i].factor < 1) op.refuse("has an empty axis");
    const Ints from = sources(op, mode, v.dims[i].factor, pads[i][0], pads[i][1]);
    x = op.layer("Take", {{"indices", from}, {"axis", inverse(perm)[i]}}, {x});
  }
  op.give(0, x, v.dims, perm);
}

// Crops to the centre of each axis, or pads around it with zeros.
void center_crop_pad(const Op &op) {
  const Value &v = op.in(0);
  const auto wanted = op.integers("shape", 1);
  const Ints axes = axes_of(op);
  if (!wanted || wanted->size() != axes.size()) fail(Code::corrupt_file, "has no size for each axis");
  Margins pads(static_cast<size_t>(v.rank()), {0, 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t n = known(op, v.dims[static_cast<size_t>(axes[i])], "an axis"), to = (*wanted)[i];
    if (to < 0 || to > max_dim) fail(Code::corrupt_file, "has a size of ", to);
    const int64_t before = to > n ? (to - n) / 2 : -((n - to) / 2);
    pads[static_cast<size_t>(axes[i])] = {before, to - n - before};
  }
  pad_constant(op, pads, 0);
}

}  // namespace

constexpr Row pad_table[] = {
    {"Pad", pad,
     "data pads@11 constant_value?@11 axes?@18 > output=data; mode=constant|reflect|edge|wrap@19 "
     "paddings@-1:ints! pads@2-10:ints! value@-10=0.0"},
    {"CenterCropPad", center_crop_pad, "input_data shape > output_data; axes:ints"}};
const std::span<const Row> pad_rows = pad_table;

}  // namespace dl4::io::onnx
