// ONNX's ops whose output sizes a run computes.
#include <cstdlib>

#include "io/onnx/read/math.hpp"
#include "io/onnx/read/nodes.hpp"
#include "io/onnx/types.hpp"

namespace dl4::io::onnx {
namespace {

Node along_first(const Op &op, const char *kind, Node x, bool descending = false) {
  return op.layer(kind, {{"axis", 0}, {"descending", descending}}, {x});
}
Node rows_at(const Op &op, Node x, Node places) { return op.layer("Take", {{"axis", 0}}, {x, places}); }

// Positions at which flags (N) are true, in order.
struct Where {
  Node places;  // int64 (n)
  Dim n;
};
Where where(const Op &op, Node flags) {
  const Node ones = op.cast(flags, DType::i32);
  const auto [n, first] = op.counted(op.layer("Sum", {{"axis", 0}}, {ones}));
  return {op.cast(rows_at(op, along_first(op, "Argsort", ones, true), first), DType::i64), n};
}

void non_zero(const Op &op) {
  const Value &v = op.in(0);
  if (v.rank() == 0) op.refuse("of a value without axes is not supported");
  const Node flags = op.cast(op.x(0), DType::boolean);
  const auto [places, n] = where(op, v.rank() == 1 ? flags : op.reshape(flags, {-1}));
  const Nodes nodes{op};
  Value left = value_of(op, places, {n}, Type::int64);
  Values rows(v.dims.size());
  for (size_t axis = rows.size(); axis-- > 0;) {
    const Value size = nodes.dim(v, static_cast<int64_t>(axis));
    rows[axis] = nodes.unsqueeze(axis > 0 ? nodes.of("Mod", {left, size}) : left, 0);
    if (axis > 0) left = nodes.of("Div", {left, size});
  }
  op.give_value(0, rows.size() == 1 ? rows[0] : nodes.of("Concat", rows, {{"axis", 0}}));
}

void compress(const Op &op) {
  Value &v = op.in(0), &condition = op.in(1);
  if (condition.dtype != DType::boolean || condition.rank() != 1) fail(Code::corrupt_file, "expects a list of flags");
  const bool flat = !op.says("axis");
  const auto axis = flat ? size_t{0} : static_cast<size_t>(op.axis(v.rank()));
  const Dim n = flat ? Dim{1, {op.r.fresh()}} : v.dims[axis], flags = condition.dims[0];
  if (n.known() && flags.known() && flags.factor > n.factor)
    fail(Code::corrupt_file, "has ", flags.factor, " flags for ", n.factor, " places");
  const Perm perm = flat ? plain(v.rank()) : v.perm();
  Node x = op.as(v, perm);
  if (flat) x = op.reshape(x, {-1});
  const int at = flat ? 0 : inverse(perm)[axis];
  Dim count;
  Node y = x;
  if (const auto known_flags = op.constant(1)) {
    Ints places;
    for (int64_t i = 0; i < known_flags->elements(); ++i)
      if (known_flags->as<uint8_t>()[i]) places.push_back(i);
    op.take(checked_mul(static_cast<int64_t>(places.size()), place_bytes));
    y = places.empty() ? op.cut(x, at, 0, 0) : op.layer("Take", {{"indices", places}, {"axis", at}}, {x});
    count = {static_cast<int64_t>(places.size()), {}};
  } else {
    const Where found = where(op, op.x(1));
    y = op.layer("Take", {{"axis", at}}, {x, found.places});
    count = found.n;
  }
  std::vector<Dim> dims = flat ? std::vector<Dim>{count} : v.dims;
  dims[axis] = count;
  op.give(0, y, dims, flat ? Perm{} : perm);
}

constexpr int64_t most_columns = 256;  // by which rows are sorted

// Sorted rows are numbered by groups of equal ones. The sort is stable, so a group starts with its first row.
void unique(const Op &op) {
  Value &v = op.in(0);
  const bool flat = !op.says("axis");
  const auto axis = flat ? size_t{0} : static_cast<size_t>(op.axis(v.rank()));
  // (N, columns), and the shape of a row of the value with that axis first.
  Perm first = plain(v.rank());
  if (!flat)
    std::rotate(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(axis),
                first.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  int64_t columns = 1;
  for (size_t i = 1; !flat && i < first.size(); ++i)
    columns = checked_mul(columns, known(op, v.dims[static_cast<size_t>(first[i])], "rows with an axis"));
  if (columns > most_columns) op.refuse("of rows of ", columns, " numbers is not supported");
  Dim total{1, {}};
  for (size_t i = 0; i < v.dims.size(); ++i)
    if (flat || i == axis) total = total * v.dims[i];
  const Node x = op.as(v, first), rows = op.reshape(wide(op, x), {-1, columns});
  const Node count = op.layer("Arange", {{"axis", 0}}, {rows});  // 0, 1 ... for the rows
  Node order = count;
  for (int64_t c = columns; c-- > 0;) {
    const Node column = op.reshape(op.cut(rows, 1, c, 1), {-1});
    order = rows_at(op, order, along_first(op, "Argsort", rows_at(op, column, order)));
  }
  const Node sorted = rows_at(op, rows, order);
  const Node before = by_number(op, "BroadcastMaximum", by_number(op, "BroadcastAdd", count, -1), 0);
  Node differs = op.layer("NotEqual", {}, {sorted, rows_at(op, sorted, before)});
  differs = op.layer("Any", {{"axis", Ints{1}}, {"keepdims", false}}, {differs});
  const Node begins = op.layer("LogicalOr", {}, {differs, by_number(op, "Equal", count, 0)});
  const auto [starts, n] = where(op, begins);

  const Node group =
      by_number(op, "BroadcastAdd", op.layer("Cumsum", {{"axis", 0}}, {op.cast(begins, DType::i64)}), -1);
  Node number = rows_at(op, group, along_first(op, "Argsort", order));  // of each row, in the original order
  Node of = op.cast(rows_at(op, order, starts), DType::i64);
  const Node bounds = op.layer("Concatenate", {{"axis", 0}}, {starts, op.numbers({total})});
  const Node next = by_number(op, "BroadcastAdd", op.layer("Arange", {{"axis", 0}}, {starts}), 1);
  Node times = minus(op, rows_at(op, bounds, next), starts);
  if (!op.flag("sorted")) {  // in order of first occurrence
    const Node come = along_first(op, "Argsort", of);
    of = rows_at(op, of, come), times = rows_at(op, times, come);
    number = rows_at(op, op.cast(along_first(op, "Argsort", come), DType::i64), number);
  }
  const Node y = rows_at(op, flat ? op.reshape(x, {-1}) : x, of);
  std::vector<Dim> dims = flat ? std::vector<Dim>{n} : v.dims;
  dims[axis] = n;
  op.give(0, y, dims, flat ? Perm{} : first);
  op.give(1, of, {n});
  op.give(2, number, {total});
  op.give(3, times, {n});
}

void non_max_suppression(const Op &op) {
  op.need_counting();
  for (size_t i : {size_t{2}, size_t{3}, size_t{4}})
    if (op.has(i) && !op.constant(i)) op.refuse("its input ", i, " is computed by the model; it must be a constant");
  const double most = std::clamp(op.number(2, 0), 0.0, 1e9), iou = op.number(3, 0);
  if (!(iou >= 0 && iou <= 1)) fail(Code::corrupt_file, "has the threshold ", iou, "; expected one from 0 to 1");
  Json config{{"max_output_boxes_per_class", static_cast<int64_t>(most)},
              {"iou_threshold", iou},
              {"center_point_box", op.flag("center_point_box")}};
  if (op.has(4)) config["score_threshold"] = op.number(4, 0);
  op.give(0, op.layer("NonMaxSuppression", config, {op.x(0), op.x(1)}));
}

}  // namespace

// 0 and -1 among the numbers are resolved by the run.
std::vector<Dim> shape_of_numbers(const Op &op) {
  const Value &v = op.in(0), &to = op.in(1);
  if (to.rank() != 1 || !to.dims[0].known() || to.dims[0].factor > max_rank)
    op.refuse("to a shape of unknown length is not supported");
  const auto n = static_cast<size_t>(to.dims[0].factor);
  const Nodes nodes{op};
  Value shape = nodes.cast(to, Type::int64);
  const Value none = nodes.ints({0});
  if (!op.flag("allowzero")) {
    std::vector<Dim> kept(n, Dim{0, {}});
    std::copy_n(v.dims.begin(), std::min(n, v.dims.size()), kept.begin());
    shape = nodes.of("Where", {nodes.of("Equal", {shape, none}), value_of(op, op.numbers(kept), {to.dims[0]}), shape});
  }
  const Value negative = nodes.of("Less", {shape, none});
  const Value others =
      nodes.of("ReduceProd", {nodes.of("Where", {negative, nodes.ints({1}), shape})}, {{"keepdims", 0}});
  const Value left = nodes.of(
      "Div", {value_of(op, op.numbers({product(v.dims)}), {Dim{}}), nodes.of("Max", {others, nodes.ints({1})})});
  shape = nodes.of("Where", {negative, left, shape});
  return op.sizes_of(shape);
}

namespace {

// Element i of a list of integers.
Value element(const Op &op, const Value &list, size_t i) {
  const Nodes nodes{op};
  return nodes.cast(nodes.at(list, 0, static_cast<int64_t>(i)), Type::int64);
}

// `count` numbers from `first`, spaced by `step`.
Value counted_on(const Op &op, const Value &count, const Value &first, const Value &step) {
  const Nodes nodes{op};
  Value most = nodes.of("Max", {count, number(0)});
  const auto [n, places] = op.counted(op.as(most, {}));
  Value all = value_of(op, places, {n});
  if (step.onnx_type() != Type::int64) all = nodes.cast(all, step.onnx_type());
  return nodes.add(first, nodes.mul(all, step));
}

}  // namespace

void slice_at_numbers(const Op &op) {
  const Nodes nodes{op};
  Value &v = op.in(0);
  const Value starts = op.in(1), ends = op.in(2);
  if (starts.rank() != 1 || !starts.dims[0].known() || ends.dims != starts.dims)
    op.refuse("with lists of places of unknown length is not supported");
  const auto count = static_cast<size_t>(starts.dims[0].factor);
  const auto axes = op.integers("axes", 3), steps = op.integers("steps", 4);
  if ((axes && axes->size() != count) || (steps && steps->size() != count))
    fail(Code::corrupt_file, "has lists of different lengths");
  const Perm perm = v.perm();
  Node x = op.as(v, perm);
  std::vector<Dim> dims = v.dims;
  const Value none = number(0), one = number(1);
  for (size_t i = 0; i < count; ++i) {
    const auto axis = static_cast<size_t>(op.axis_of(axes ? (*axes)[i] : static_cast<int64_t>(i), v.rank()));
    const int64_t by = steps ? (*steps)[i] : 1;
    if (by == 0 || by < -max_dim || by > max_dim) fail(Code::corrupt_file, "has a step of ", by);
    const Value n = nodes.dim(v, static_cast<int64_t>(axis));
    const auto bound = [&](const Value &given, const Value &least, const Value &most) {
      const Value front = nodes.of("Where", {nodes.of("Less", {given, none}), nodes.add(given, n), given});
      return nodes.of("Min", {nodes.of("Max", {front, least}), most});
    };
    const Value last = nodes.sub(n, one), first = bound(element(op, starts, i), none, by > 0 ? n : last),
                end = bound(element(op, ends, i), by > 0 ? none : number(-1), by > 0 ? n : last);
    const Value reach = by > 0 ? nodes.sub(end, first) : nodes.sub(first, end);
    const int64_t stride = std::abs(by);
    const Value taken = nodes.of("Div", {nodes.add(reach, number(stride - 1)), number(stride)});
    Value places = counted_on(op, taken, first, number(by));
    dims[axis] = places.dims[0];
    x = op.layer("Take", {{"axis", inverse(perm)[axis]}}, {x, op.as(places, {0})});
  }
  op.give(0, x, dims, perm);
}

// All numbers from `start` below `limit`, spaced by `step`.
void range_of_numbers(const Op &op) {
  const Nodes nodes{op};
  std::array<Value, 3> given;
  for (size_t i = 0; i < 3; ++i) {
    Value v = op.in(i);
    if (v.rank() > 1 || product(v.dims) != Dim{}) fail(Code::corrupt_file, "expects three numbers");
    given[i] = v.rank() == 0 ? v : nodes.of("Reshape", {v, nodes.ints({})});
  }
  const auto &[start, limit, step] = given;
  const Value reach = nodes.sub(limit, start);
  Value count;
  if (start.dtype == DType::f32) {
    count = nodes.cast(nodes.of("Ceil", {nodes.of("Div", {reach, step})}), Type::int64);
  } else {
    const Value apart = nodes.cast(step, Type::int64);
    count = nodes.of("Div",
                     {nodes.sub(nodes.add(nodes.cast(reach, Type::int64), apart), nodes.of("Sign", {apart})), apart});
  }
  op.give_value(0, counted_on(op, count, start, step));
}

constexpr Row counted_table[] = {
    {"NonZero", non_zero, "X > Y"},
    {"Compress", compress, "input condition > output=input; axis:int"},
    {"Unique", unique, "X > Y indices? inverse_indices? counts?; axis:int sorted=1|0"},
    {"NonMaxSuppression", non_max_suppression,
     "boxes scores max_output_boxes_per_class? iou_threshold? score_threshold? > selected_indices; "
     "center_point_box=0|1",
     slow},
};
const std::span<const Row> counted_rows = counted_table;

}  // namespace dl4::io::onnx
