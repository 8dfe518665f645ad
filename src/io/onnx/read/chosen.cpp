// Gather and Scatter with computed indices, or of values with a free first axis.
#include <numeric>

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

constexpr int64_t most_updates = int64_t{1} << 24;  // exactly countable in float32

// Strides of the first axes' indices, in blocks of the remaining axes.
std::vector<Dim> strides_of(const std::vector<Dim> &dims, size_t axes) {
  std::vector<Dim> strides(axes);
  for (size_t i = axes; i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Node times(const Op &op, Node n, const Dim &d) {
  if (d == Dim{}) return n;
  if (d.known()) return by_number(op, "BroadcastMultiply", n, static_cast<double>(d.factor));
  return times(op, n, op.number(d));
}

Node whole(const Op &op, Node n) {
  if (op.r.graph().dtype(n) == DType::f32) fail(Code::corrupt_file, "has indices that are no integers");
  return op.cast(n, DType::i64);
}

// Indices times a stride: negative ones are converted, those out of range become larger than any position, so that the
// run reports them.
Node scaled(const Op &op, Node ids, const Dim &n, const Dim &stride) {
  const Node size = n.known() ? op.constant_node(tensor_of({n.factor}, true)) : op.number(n);
  const Node below = by_number(op, "Less", ids, 0), from_end = plus(op, ids, size);
  const Node outside =
      op.layer("LogicalOr", {}, {by_number(op, "Less", from_end, 0), op.layer("GreaterEqual", {}, {ids, size})});
  ids = times(op, op.layer("Where", {}, {below, from_end, ids}), stride);
  return op.layer("Where", {{"x1", max_dim}}, {outside, ids});
}

// Positions of an axis from indices times a stride, those out of range larger than any; broadcasts with a value of
// `rank` axes.
Node counted(const Op &op, const Dim &d, const Dim &most, size_t axis, const Dim &stride, size_t rank) {
  Ints behind(rank - axis - 1);
  std::iota(behind.begin(), behind.end(), 1);
  Node n;
  if (d.known() && stride.known()) {
    op.take(checked_mul(d.factor, place_bytes));
    Ints list(static_cast<size_t>(d.factor));
    for (size_t i = 0; i < list.size(); ++i) list[i] = checked_mul(static_cast<int64_t>(i), stride.factor);
    n = op.constant_node(tensor_of(list));
  } else {
    n = times(op, op.places(d), stride);
  }
  if (!op.symbols().not_negative(op.symbols().sum(most, d, -1))) {
    const Node outside = op.layer("GreaterEqual", {}, {op.places(d), op.number(most)});
    n = op.layer("Where", {{"x1", max_dim}}, {outside, n});
  }
  return behind.empty() ? n : op.layer("ExpandDims", {{"axis", behind}}, {n});
}

// Indices of elements as positions in the flattened data.
Node element_places(const Op &op, size_t indices) {
  const Value &v = op.in(0);
  Value &ids = op.in(indices);
  if (ids.rank() != v.rank()) fail(Code::corrupt_file, "has indices of ", ids.rank(), " axes for ", v.rank());
  const auto axis = static_cast<size_t>(op.axis(v.rank())), rank = v.dims.size();
  const std::vector<Dim> strides = strides_of(v.dims, rank);
  Node place = scaled(op, whole(op, op.x(indices)), v.dims[axis], strides[axis]);
  for (size_t i = 0; i < rank; ++i) {
    if (i == axis) continue;
    const Dim &has = ids.dims[i], &most = v.dims[i];
    if (has.known() && most.known() && has.factor > most.factor)
      fail(Code::corrupt_file, "has more indices than places");
    if (has == Dim{} && most.known()) continue;
    place = plus(op, place, counted(op, has, most, i, strides[i], rank));
  }
  return place;
}

struct Rows {
  Node places;
  std::vector<Dim> dims;   // of the rows
  std::vector<Dim> block;  // of each row
};

// Index rows as positions in the data seen as blocks.
Rows row_places(const Op &op, size_t indices, size_t batch) {
  const Value &v = op.in(0);
  Value &ids = op.in(indices);
  if (ids.rank() < 1) fail(Code::corrupt_file, "has indices without axes");
  const auto deep = static_cast<size_t>(known(op, ids.dims.back(), "a row of indices"));
  if (deep < 1 || batch >= ids.dims.size() || batch + deep > v.dims.size())
    fail(Code::corrupt_file, "has indices that do not fit");
  const size_t rank = ids.dims.size() - 1;
  const std::vector<Dim> strides = strides_of(v.dims, batch + deep);
  const Node numbers = whole(op, op.x(indices));
  Rows rows{graph::no_node,
            {ids.dims.begin(), ids.dims.end() - 1},
            {v.dims.begin() + static_cast<std::ptrdiff_t>(batch + deep), v.dims.end()}};
  for (size_t k = 0; k < deep; ++k) {
    const int last = static_cast<int>(rank);
    const Node one = op.layer("Squeeze", {{"axis", last}}, {op.cut(numbers, last, static_cast<int64_t>(k), 1)});
    const Node place = scaled(op, one, v.dims[batch + k], strides[batch + k]);
    rows.places = k == 0 ? place : plus(op, rows.places, place);
  }
  for (size_t i = 0; i < batch; ++i) {
    if (ids.dims[i].known() && v.dims[i].known() && ids.dims[i] != v.dims[i])
      fail(Code::corrupt_file, "has a batch of indices that is another one than the data's");
    rows.places = plus(op, rows.places, counted(op, ids.dims[i], v.dims[i], i, strides[i], rank));
  }
  return rows;
}

int64_t elements_of(const Op &op, const std::vector<Dim> &dims) {
  int64_t n = 1;
  for (const Dim &d : dims) n = checked_mul(n, known(op, d, "an axis of a block"));
  return n;
}

// y with the data's axes restored.
Node as_data(const Op &op, Node y) {
  const Ints target = sizes_of(op.in(0).dims);
  if (std::count(target.begin(), target.end(), free_dim) <= 1) return op.reshape(y, target);
  return op.layer("ReshapeLike", {}, {y, op.x(0)});
}

// The last of n updates at these positions, (positions, 1): negative if there is none. like: of as many positions.
Node last_updates(const Op &op, Node updates, Node places, Node like) {
  const Node number =
      op.layer("ExpandDims", {{"axis", 1}}, {op.cast(op.layer("Arange", {{"axis", 0}}, {updates}), DType::f32)});
  return op.layer("SegmentMax", {}, {number, places, op.cast(like, DType::f32)});
}
Node updates_at(const Op &op, Node updates, Node last) {
  const Node one = op.layer("Squeeze", {{"axis", 1}}, {by_number(op, "BroadcastMaximum", last, 0)});
  return op.layer("Take", {{"axis", 0}}, {updates, op.cast(one, DType::i64)});
}

// The data with updates (in blocks of `block` elements) at positions, by the node's "reduction".
Node scattered(const Op &op, Node data, Node places, Node updates, int64_t block, const std::string &how) {
  if (op.r.graph().dtype(data) != op.r.graph().dtype(updates)) fail(Code::corrupt_file, "joins values of two types");
  const Node x = op.reshape(data, {-1, block}), from = op.reshape(updates, {-1, block}), ids = op.reshape(places, {-1});
  const bool floats = op.r.graph().dtype(data) == DType::f32;
  if (how != "none" && !floats) op.refuse("\"reduction\" ", how, " of ", op.r.graph().dtype(data), " is not supported");
  if (const int64_t n = op.shape(ids)[0]; n != free_dim && n > most_updates)
    op.refuse("of ", n, " updates is not supported");
  if (how == "add") {
    const Node sums = op.layer("SegmentSum", {}, {from, ids, x});
    return plus(op, x, sums);
  }
  const Node last = last_updates(op, from, ids, block == 1 ? x : op.cut(x, 1, 0, 1));
  const Node here = by_number(op, "GreaterEqual", last, 0);
  Node y = graph::no_node;
  if (how == "max" || how == "min") {
    const bool up = how == "max";
    const auto turned = [&](Node n) { return up ? n : op.layer("Negative", {}, {n}); };
    const Node best = turned(op.layer("SegmentMax", {}, {turned(from), ids, x}));
    y = op.layer(up ? "BroadcastMaximum" : "BroadcastMinimum", {}, {x, best});
  } else {
    Node all = from;
    if (op.shape(from)[0] == free_dim) {  // there may be none: adds a row that nothing reads
      const Node none = op.constant_node(make_zeros(op.r.graph().dtype(from), {1, block}));
      all = op.layer("Concatenate", {{"axis", 0}}, {from, none});
    }
    y = updates_at(op, all, last);
  }
  return op.layer("Where", {}, {here, y, x});
}

// Free sizes may turn out equal; the run reports if they don't.
void need_same(const std::vector<Dim> &updates, const std::vector<Dim> &wanted) {
  const bool same = std::equal(updates.begin(), updates.end(), wanted.begin(), wanted.end(),
                               [](const Dim &a, const Dim &b) { return a == b || !a.known() || !b.known(); });
  if (!same) fail(Code::corrupt_file, "has updates of another shape than its indices");
}

std::string reduction_of(const Op &op) {
  const std::string how = op.node.op == "Scatter" ? "none" : op.string("reduction");
  if (how == "mul") op.refuse("\"reduction\" mul at places that the model computes is not supported");
  return how;
}

}  // namespace

void gather_computed_elements(const Op &op) {
  const Node places = element_places(op, 1);
  op.give(0, op.layer("Take", {{"axis", 0}}, {op.reshape(op.x(0), {-1}), places}), op.in(1).dims);
}

void gather_computed_rows(const Op &op) {
  const int64_t batch = op.integer("batch_dims");
  if (batch < 0 || batch > op.in(0).rank()) fail(Code::corrupt_file, "has \"batch_dims\" of ", batch);
  const Rows rows = row_places(op, 1, static_cast<size_t>(batch));
  const std::vector<Dim> &from = op.in(0).dims;
  std::vector<Dim> all = rows.block;
  all.insert(all.begin(), product({from.begin(), from.end() - std::ssize(rows.block)}));
  Ints table = sizes_of(all);
  table[0] = -1;
  const Node blocks = std::count(table.begin(), table.end(), free_dim) <= 1
                          ? op.reshape(op.x(0), table)
                          : op.layer("ReshapeLike", {}, {op.x(0), op.zeros(all)});
  std::vector<Dim> dims = rows.dims;
  dims.insert(dims.end(), rows.block.begin(), rows.block.end());
  op.give(0, op.layer("Take", {{"axis", 0}}, {blocks, rows.places}), dims);
}

void scatter_computed_elements(const Op &op) {
  const std::string how = reduction_of(op);
  const std::vector<Dim> dims = op.in(0).dims;
  need_same(op.in(2).dims, op.in(1).dims);
  const Node y = scattered(op, op.x(0), element_places(op, 1), op.x(2), 1, how);
  op.give(0, as_data(op, y), dims);
}

void scatter_computed_rows(const Op &op) {
  const std::string how = reduction_of(op);
  const std::vector<Dim> dims = op.in(0).dims;
  const Rows rows = row_places(op, 1, 0);
  std::vector<Dim> wanted = rows.dims;
  wanted.insert(wanted.end(), rows.block.begin(), rows.block.end());
  need_same(op.in(2).dims, wanted);
  const Node y = scattered(op, op.x(0), rows.places, op.x(2), elements_of(op, rows.block), how);
  op.give(0, as_data(op, y), dims);
}

// ---- MaxUnpool -----------------------------------------------------------------------------------------------------

namespace {

void max_unpool(const Op &op) {
  const Value &v = op.in(0), &places = op.in(1);
  const auto size = op.integers("kernel_shape");
  if (!size || v.rank() < 3 || size->size() + 2 != v.dims.size() || places.dims != v.dims)
    fail(Code::corrupt_file, "has a \"kernel_shape\" or places of other axes than its input");
  const size_t n = size->size();
  const Ints strides = op.integers("strides").value_or(Ints(n, 1)), pads = op.integers("pads").value_or(Ints(2 * n, 0));
  if (strides.size() != n || pads.size() != 2 * n) fail(Code::corrupt_file, "has strides or pads for other axes");
  std::vector<Dim> dims{v.dims[0], {known(op, v.dims[1], "channels"), {}}};
  int64_t image = 1;
  for (size_t i = 0; i < n; ++i) {
    const int64_t from = known(op, v.dims[i + 2], "an axis");
    const int64_t to = checked_add(checked_mul(from - 1, strides[i]), (*size)[i], -pads[i] - pads[i + n]);
    if (to < 1 || to > max_dim) fail(Code::corrupt_file, "has an axis of ", to);
    dims.push_back({to, {}});
    image = checked_mul(image, to);
  }
  if (op.has(2)) {
    const auto wanted = op.integers("output_shape", 2);
    Ints same = sizes_of(dims);
    if (wanted && wanted->size() == same.size() && same[0] == free_dim) same[0] = (*wanted)[0];
    if (!wanted || *wanted != same)
      op.refuse(
          "\"output_shape\" of another size than its windows reach is not supported: ONNX's places are those of "
          "the smaller image, ONNX Runtime's those of the larger one");
  }
  op.take(checked_mul(image, 4));
  const Node x = op.x(0), flat = op.reshape(x, {-1, 1}), ids = op.reshape(whole(op, op.x(1)), {-1});
  // As many positions as there are; their values are not read.
  const Node channels =
      op.cut(op.reshape(x, {-1, v.dims[1].factor, elements_of(op, {v.dims.begin() + 2, v.dims.end()})}), 2, 0, 1);
  const Node all = op.reshape(times(op, channels, op.constant_node(make_zeros(DType::f32, {1, 1, image}))), {-1, 1});
  const Node below = by_number(op, "Less", ids, 0);
  const Node safe = op.layer("Where", {{"x1", max_dim}}, {below, ids});  // reported by the run
  const Node last = last_updates(op, ids, safe, all);
  const Node y = op.layer("Where", {{"x2", 0}}, {by_number(op, "GreaterEqual", last, 0), updates_at(op, flat, last)});
  op.give(0, op.reshape(y, sizes_of(dims)), dims);
}

}  // namespace

constexpr Row chosen_table[] = {
    {"MaxUnpool", max_unpool, "X~ I output_shape? > output; kernel_shape:ints! pads:ints strides:ints"}};
const std::span<const Row> chosen_rows = chosen_table;

}  // namespace dl4::io::onnx
