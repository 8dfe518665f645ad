// ONNX's indexing ops: Gather, Slice, Scatter and similar.
#include <cmath>
#include <numeric>

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

// ---- Gather --------------------------------------------------------------------------------------------------------

void gather(const Op &op) {
  Value &v = op.in(0), &ids = op.in(1);
  const auto list = op.elements(1), from = v.rank() == 1 ? op.sizes(0) : std::nullopt;
  const bool known = list && std::all_of(list->begin(), list->end(), [](const Dim &d) { return d.known(); });
  if (from && known) {
    std::vector<Dim> some;
    op.axis(v.rank());
    for (const Dim &d : *list)
      some.push_back((*from)[static_cast<size_t>(op.axis_of(d.factor, static_cast<int>(from->size())))]);
    return op.give_elements(0, std::move(some), ids.dims, v.onnx_type());
  }
  const auto axis = static_cast<size_t>(op.axis(v.rank()));
  std::vector<Dim> dims(v.dims.begin(), v.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), ids.dims.begin(), ids.dims.end());
  dims.insert(dims.end(), v.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, v.dims.end());
  if (dims.size() > max_rank) op.refuse("gives a value of ", dims.size(), " axes");
  if (known && ids.rank() == 0) {  // removes the axis
    const Perm perm = v.perm();
    const int at = inverse(perm)[axis];
    int64_t id = (*list)[0].factor;
    Node x = op.as(v, perm);
    if (v.dims[axis].known()) id = op.axis_of(id, static_cast<int>(std::min<int64_t>(v.dims[axis].factor, max_dim)));
    if (id < 0) x = flipped(op, x, at), id = -1 - id;
    std::vector<bool> gone(v.dims.size(), false);
    gone[axis] = true;
    return give_without(op, op.cut(x, at, id, 1), perm, v.dims, gone);
  }
  const Tensor *table = v.constant && v.constant->dtype == DType::f32 ? &*v.constant : nullptr;
  if (table && v.rank() == 2 && axis == 0 && !ids.forms.empty() && table->elements() > 0 && ids.rank() > 0 &&
      ids.dtype != DType::f32) {
    const Json config{{"input_dim", table->shape[0]}, {"output_dim", table->shape[1]}};
    return op.give(0, op.weighted("Embedding", config, {op.x(1)}, {{"embeddings", *table}}), dims);
  }
  op.give(0, op.layer("Take", {{"axis", axis}}, {op.x(0), op.x(1)}), dims);
}

// ---- indices ------------------------------------------------------------------------------------------------------

Ints known_dims(const Op &op, const Value &v) {
  Ints dims;
  for (const Dim &d : v.dims) {
    if (!d.known()) op.refuse("of a value with free axes is not supported");
    dims.push_back(d.factor);
  }
  return dims;
}

Ints constant_ids(const Op &op, size_t i) {
  const auto t = op.constant(i);
  if (!t) op.refuse("with indices that the model computes is not supported");
  return ints_of(*t);
}

int64_t wrapped(int64_t id, int64_t n) {
  if (id < -n || id >= n) fail(Code::corrupt_file, "has the index ", id, " for an axis of ", n);
  return id < 0 ? id + n : id;
}

// Elements of the flattened x by position.
Node taken(const Op &op, Node flat, const Ints &from, const Ints &dims) {
  return op.layer("Take", {{"axis", 0}}, {flat, op.constant_node(reshaped(tensor_of(from), Shape(dims)))});
}

Node flat(const Op &op, size_t i) { return op.reshape(op.x(i), {Shape(known_dims(op, op.in(i))).elements()}); }

// Calls f(at, position) for all positions of a block of `dims`, as indices per axis.
template <class F>
void each_place(const Ints &dims, F f) {
  const int64_t n = Shape(dims).elements();
  Ints at(dims.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(i, at);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis]) break;
      at[axis] = 0;
    }
  }
}

int64_t place_of(const Ints &at, const Ints &dims) {
  int64_t place = 0;
  for (size_t i = 0; i < dims.size(); ++i) place = place * dims[i] + at[i];
  return place;
}

// Positions in the data that the indices select along an axis.
Ints element_places(const Op &op, size_t indices, const Ints &data) {
  const auto axis = static_cast<size_t>(op.axis(static_cast<int>(data.size())));
  const Ints ids = constant_ids(op, indices), dims = known_dims(op, op.in(indices));
  op.take(checked_mul(static_cast<int64_t>(ids.size()), place_bytes));
  if (dims.size() != data.size()) fail(Code::corrupt_file, "has indices of ", dims.size(), " axes for ", data.size());
  for (size_t i = 0; i < dims.size(); ++i)
    if (i != axis && dims[i] > data[i]) fail(Code::corrupt_file, "has more indices than places");
  Ints places;
  each_place(dims, [&](int64_t i, Ints at) {
    at[axis] = wrapped(ids[static_cast<size_t>(i)], data[axis]);
    places.push_back(place_of(at, data));
  });
  return places;
}

// Whether indices are constant and all sizes known: then positions are computed while reading.
bool is_fixed(const Op &op) {
  const auto known = [&](size_t i) {
    const auto &dims = op.in(i).dims;
    return std::all_of(dims.begin(), dims.end(), [](const Dim &d) { return d.known(); });
  };
  return op.constant(1) && known(0) && (!op.has(2) || known(2));
}

void gather_elements(const Op &op) {
  if (!is_fixed(op)) return gather_computed_elements(op);
  const Ints data = known_dims(op, op.in(0));
  op.give(0, taken(op, flat(op, 0), element_places(op, 1, data), known_dims(op, op.in(1))));
}

// Positions in the data of the blocks that index rows select.
Ints row_places(const Op &op, size_t indices, const Ints &data, size_t batch, Ints &out) {
  const Ints ids = constant_ids(op, indices), dims = known_dims(op, op.in(indices));
  if (dims.empty() || dims.back() < 1 || batch + static_cast<size_t>(dims.back()) > data.size() || batch >= dims.size())
    fail(Code::corrupt_file, "has indices that do not fit");
  const auto deep = static_cast<size_t>(dims.back());
  int64_t listed = 1;
  for (int64_t d : dims) listed = checked_mul(listed, d);
  for (size_t i = batch + deep; i < data.size(); ++i) listed = checked_mul(listed, data[i]);
  if (listed > most_places) op.refuse("of ", listed, " places is not supported");
  op.take(checked_mul(listed, place_bytes));
  const Ints rows(dims.begin(), dims.end() - 1),
      block(data.begin() + static_cast<std::ptrdiff_t>(batch + deep), data.end());
  out = rows;
  out.insert(out.end(), block.begin(), block.end());
  Ints places;
  each_place(rows, [&](int64_t i, const Ints &at) {
    Ints from(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch));
    for (size_t k = 0; k < deep; ++k) from.push_back(wrapped(ids[static_cast<size_t>(i) * deep + k], data[batch + k]));
    each_place(block, [&](int64_t, const Ints &inside) {
      Ints whole = from;
      whole.insert(whole.end(), inside.begin(), inside.end());
      places.push_back(place_of(whole, data));
    });
  });
  return places;
}

void gather_nd(const Op &op) {
  if (!is_fixed(op)) return gather_computed_rows(op);
  const Ints data = known_dims(op, op.in(0));
  const int64_t batch = op.integer("batch_dims");
  if (batch < 0 || batch > static_cast<int64_t>(data.size())) fail(Code::corrupt_file, "has \"batch_dims\" of ", batch);
  Ints out;
  const Ints places = row_places(op, 1, data, static_cast<size_t>(batch), out);
  op.give(0, taken(op, flat(op, 0), places, out));
}

// Replaces data at these positions by the updates, or combines them.
void scatter(const Op &op, const Ints &data, const Ints &places) {
  const std::string how = op.node.op == "Scatter" ? "none" : op.string("reduction");
  const int64_t n = Shape(data).elements();
  if (n > most_places) op.refuse("into ", n, " places is not supported");
  op.take(checked_mul(checked_add(n, static_cast<int64_t>(places.size())), place_bytes));
  if (op.in(0).dtype != op.in(2).dtype) fail(Code::corrupt_file, "joins ", op.in(0).dtype, " and ", op.in(2).dtype);
  const char *kinds[][2] = {
      {"add", "BroadcastAdd"}, {"mul", "BroadcastMultiply"}, {"max", "BroadcastMaximum"}, {"min", "BroadcastMinimum"}};
  const char *kind = nullptr;
  for (const auto &k : kinds)
    if (how == k[0]) kind = k[1];
  // Repeated positions are updated in rounds, once in each.
  std::vector<Ints> rounds;
  std::vector<size_t> times(static_cast<size_t>(n), 0);
  Ints first(static_cast<size_t>(n));
  std::iota(first.begin(), first.end(), 0);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]);
    const size_t round = kind ? times[place]++ : 0;
    if (round == rounds.size()) op.take(checked_mul(n, place_bytes)), rounds.push_back(first);
    if (rounds.size() > 64 || static_cast<int64_t>(rounds.size()) * n > 2 * most_places)
      op.refuse("with ", rounds.size(), " updates of one of ", n, " places is not supported");
    rounds[round][place] = n + static_cast<int64_t>(i);
  }
  Node y = flat(op, 0);
  const Node updates = flat(op, 2);
  for (const Ints &round : rounds) {
    const Node moved = taken(op, op.layer("Concatenate", {{"axis", 0}}, {y, updates}), round, {n});
    if (!kind) {
      y = moved;
      continue;
    }
    Tensor here = make_tensor(DType::boolean, {n});
    for (int64_t i = 0; i < n; ++i) here.as<uint8_t>()[i] = round[static_cast<size_t>(i)] >= n;
    const Node both = op.layer(kind, {}, {y, moved});
    y = op.layer("Where", {}, {op.constant_node(here), both, y});
  }
  op.give(0, op.reshape(y, data));
}

void scatter_elements(const Op &op) {
  if (!is_fixed(op)) return scatter_computed_elements(op);
  const Ints data = known_dims(op, op.in(0));
  const Ints places = element_places(op, 1, data);
  if (known_dims(op, op.in(2)) != known_dims(op, op.in(1)))
    fail(Code::corrupt_file, "has updates of another shape than its indices");
  scatter(op, data, places);
}

void scatter_nd(const Op &op) {
  if (!is_fixed(op)) return scatter_computed_rows(op);
  const Ints data = known_dims(op, op.in(0));
  Ints out;
  const Ints places = row_places(op, 1, data, 0, out);
  if (known_dims(op, op.in(2)) != out) fail(Code::corrupt_file, "has updates of another shape than its indices");
  scatter(op, data, places);
}

// ---- ranges -------------------------------------------------------------------------------------------------------

// A range whose start and limit depend on free sizes.
bool range_of_sizes(const Op &op) {
  const auto start = op.sizes(0), limit = op.sizes(1), step = op.sizes(2);
  if (!start || !limit || !step || start->size() != 1 || limit->size() != 1 || step->size() != 1) return false;
  const Dim from = (*start)[0], by = (*step)[0];
  Symbols &s = op.symbols();
  if ((from.known() && (*limit)[0].known() && by.known()) || by.factor == 0) return false;
  const bool down = by.factor < 0;
  if (!by.known() && !s.not_negative(down ? by * Dim{-1, {}} : by)) return false;
  const Dim reach = s.sum(down ? from : (*limit)[0], down ? (*limit)[0] : from, -1);
  const Dim stride = down ? by * Dim{-1, {}} : by;
  const Dim n = s.largest(*s.quotient(s.sum(reach, s.sum(stride, Dim{1, {}}, -1)), stride), Dim{0, {}});
  Node y = op.places(n);
  if (by != Dim{1, {}})
    y = by.known() ? by_number(op, "BroadcastMultiply", y, static_cast<double>(by.factor))
                   : times(op, y, op.number(by));
  if (from != Dim{0, {}}) y = plus(op, y, op.number(from));
  op.give(0, op.cast(y, op.in(0).dtype), {n}, {}, by.factor > 0 && s.not_negative(from));
  return true;
}

void range(const Op &op) {
  const auto start = op.constant(0), limit = op.constant(1), step = op.constant(2);
  if (range_of_sizes(op)) return;
  if (!start || !limit || !step) return range_of_numbers(op);
  if (start->elements() != 1 || limit->elements() != 1 || step->elements() != 1 || start->dtype != limit->dtype ||
      start->dtype != step->dtype)
    fail(Code::corrupt_file, "expects three numbers of one type");
  const Type type = op.in(0).onnx_type();
  if (start->dtype == DType::f32) {
    const double from = op.number(0, 0), by = op.number(2, 0), count = std::ceil((op.number(1, 0) - from) / by);
    if (by == 0 || !(count < 1e9)) fail(Code::corrupt_file, "has ", count, " numbers");
    const auto n = static_cast<int64_t>(std::max(count, 0.0));
    op.take(checked_mul(n, size_of(DType::f32)));
    Tensor t = make_tensor(DType::f32, {n});
    for (int64_t i = 0; i < n; ++i) t.as<float>()[i] = static_cast<float>(from + by * static_cast<double>(i));
    return op.give_constant(0, std::move(t), type);
  }
  const int64_t from = ints_of(*start)[0], by = ints_of(*step)[0],
                reach = checked_add(ints_of(*limit)[0], checked_mul(-1, from));
  if (by == 0) fail(Code::corrupt_file, "has a step of 0");
  const int64_t n = reach != 0 && (reach > 0) == (by > 0) ? (reach > 0 ? reach - 1 : reach + 1) / by : -1;
  op.take(checked_mul(checked_add(n, 1), 2, size_of(DType::i64)));
  Ints list;
  for (int64_t i = 0; i <= n; ++i) list.push_back(from + i * by);
  op.give_constant(0, tensor_of(list, start->dtype, {n + 1}), type);
}

void trilu(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() < 2) fail(Code::corrupt_file, "expects a matrix");
  const Dim rows = v.dims[v.dims.size() - 2], columns = v.dims.back();
  const bool upper = op.flag("upper");
  Node mask;
  if (!rows.known() || !columns.known() || (op.has(1) && !op.constant(1))) {
    Node shift = op.layer("ExpandDims", {{"axis", 1}}, {op.places(rows)});
    if (op.has(1)) shift = plus(op, shift, op.cast(op.x(1), DType::i64));
    mask = op.layer(upper ? "GreaterEqual" : "LessEqual", {}, {op.places(columns), shift});
  } else {
    const double k = op.number(1, 0);
    op.take(checked_mul(rows.factor, columns.factor));
    Tensor keep = make_tensor(DType::boolean, {rows.factor, columns.factor});
    for (int64_t i = 0; i < rows.factor; ++i)
      for (int64_t j = 0; j < columns.factor; ++j)
        keep.as<uint8_t>()[i * columns.factor + j] =
            upper ? static_cast<double>(j - i) >= k : static_cast<double>(j - i) <= k;
    mask = op.constant_node(keep);
  }
  if (v.dtype == DType::boolean) return op.give(0, op.layer("LogicalAnd", {}, {op.x(0), mask}), v.dims);
  op.give(0, op.layer("Where", {{"x2", 0}}, {mask, op.x(0)}), v.dims);
}

void one_hot(const Op &op) {
  Value &v = op.in(0);
  const double depth = op.number(1, 0);
  const auto values = op.constant(2);
  if (!values || values->elements() != 2) op.refuse("its values are computed by the model; they must be constants");
  if (!(depth >= 1 && depth <= 1e6)) op.refuse("has a depth of ", depth);
  const auto n = static_cast<int64_t>(depth);
  op.take(checked_mul(n, place_bytes));
  const auto axis = static_cast<size_t>(op.axis_of(op.integer("axis"), v.rank() + 1));
  Ints numbers(static_cast<size_t>(n)), dims(v.dims.size() + 1, 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  dims[axis] = n;
  Node ids = op.layer("ExpandDims", {{"axis", axis}}, {op.cast(op.x(0), DType::i64)});
  const Node below = by_number(op, "Less", ids, 0);
  ids = op.layer("Where", {}, {below, by_number(op, "BroadcastAdd", ids, depth), ids});
  const Node hot = op.layer("Equal", {}, {ids, op.constant_node(reshaped(tensor_of(numbers), Shape(dims)))});
  std::vector<Dim> out = v.dims;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), Dim{n, {}});
  const auto value = [&](int64_t i) {
    Tensor one = make_tensor(values->dtype, {});
    const auto each = static_cast<size_t>(size_of(values->dtype));
    std::memcpy(one.data.get(), values->data.get() + static_cast<size_t>(i) * each, each);
    return op.constant_node(one);
  };
  op.give(0, op.layer("Where", {}, {hot, value(1), value(0)}), out);
}

}  // namespace

constexpr Row index_table[] = {
    {"Gather", gather, "data indices > output=data; axis=0"},
    {"GatherElements", gather_elements, "data indices > output=data; axis=0"},
    {"GatherND", gather_nd, "data indices > output=data; batch_dims@12=0"},
    {"ScatterElements", scatter_elements,
     "data indices updates > output=data; axis=0 reduction@16=none|add|mul|max@18|min@18"},
    {"Scatter", scatter_elements, "data indices updates > output=data; axis=0"},
    {"ScatterND", scatter_nd, "data indices updates > output=data; reduction@16=none|add|mul|max@18|min@18"},
    {"Range", range, "start limit delta > output=start; stash_type@27=1|"},
    {"Trilu", trilu, "input k? > output=input; upper=1|0"},
    {"OneHot", one_hot, "indices depth values > output=values; axis=-1"},
};
const std::span<const Row> index_rows = index_table;

}  // namespace dl4::io::onnx
