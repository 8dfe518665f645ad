// ONNX's Slice: by numbers that are known while the file is read, and by sizes of free axes.
#include <algorithm>

#include "base/error.hpp"
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

}  // namespace dl4::io::onnx
