// ONNX's shape ops: reshapes, joins and splits. Shape arithmetic is evaluated while reading.
#include <numeric>

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {

void give_without(const Op &op, Node y, const Perm &perm, const std::vector<Dim> &dims, const std::vector<bool> &gone) {
  std::vector<Dim> left;
  std::vector<size_t> number;  // of an axis among those left
  for (size_t i = 0; i < gone.size(); ++i) {
    number.push_back(left.size());
    if (!gone[i]) left.push_back(dims[i]);
  }
  Ints places;
  Perm order;
  for (size_t i = 0; i < perm.size(); ++i)
    if (const auto axis = static_cast<size_t>(perm[i]); gone[axis])
      places.push_back(static_cast<int64_t>(i));
    else
      order.push_back(static_cast<int>(number[axis]));
  op.give(0, op.layer("Squeeze", {{"axis", places}}, {y}), left, order);
}

namespace {

void shape(const Op &op) {
  const auto &dims = op.in(0).dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto bound = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = bound(op.integer("start")), end = std::max(start, bound(op.integer("end", rank)));
  op.give_sizes(0, {dims.begin() + start, dims.begin() + end});
}
void size(const Op &op) { op.give_sizes(0, {product(op.in(0).dims)}, true); }

// ---- reshaping -----------------------------------------------------------------------------------------------------

void give_reshaped(const Op &op, std::vector<Dim> to) {
  Value &v = op.in(0);
  if (to.size() > static_cast<size_t>(max_rank)) op.refuse("gives a value of ", to.size(), " axes");
  if (v.at_hand()) {
    const Dim has = product(v.dims), wants = product(to);
    if (has != wants && ((has.known() && wants.known()) || !v.filled))
      fail(Code::corrupt_file, "gives a shape of another number of elements");
  }
  if (v.filled) {
    Value other = v;
    other.dims = std::move(to);
    return op.give_value(0, std::move(other));
  }
  if (v.sizes) return op.give_elements(0, *v.sizes, std::move(to), v.onnx_type());
  if (v.constant) {
    return op.give_constant(0, io::reshaped(*v.constant, Shape(sizes_of(to))), v.type);
  }
  if (to == v.dims) return op.give_value(0, v);
  op.give(0, with_dims(op, op.x(0), v.dims, to), to);
}

void reshape(const Op &op) {
  const Value &v = op.in(0);
  const auto wanted = op.sizes(1);
  if (!wanted) return give_reshaped(op, shape_of_numbers(op));
  const bool zero_is_zero = op.flag("allowzero");
  std::vector<Dim> to = *wanted;
  std::optional<size_t> left;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim{0, {}} && !zero_is_zero) {
      if (i >= v.dims.size()) fail(Code::corrupt_file, "keeps axis ", i, " of a value of ", v.dims.size(), " axes");
      to[i] = v.dims[i];
    }
    if (to[i].known() && to[i].factor < 0) {
      if (to[i].factor != -1 || left) fail(Code::corrupt_file, "has a shape with more than one axis to be found");
      left = i;
    }
  }
  if (left) {
    to[*left] = Dim{1, {}};
    const auto rest = op.symbols().quotient(product(v.dims), product(to));
    to[*left] = rest ? *rest : Dim{1, {op.r.fresh()}};
  }
  give_reshaped(op, std::move(to));
}

void flatten(const Op &op) {
  const Value &v = op.in(0);
  const int64_t at = op.integer("axis") == v.rank() ? v.rank() : op.axis(v.rank());
  give_reshaped(op, {product({v.dims.begin(), v.dims.begin() + at}), product({v.dims.begin() + at, v.dims.end()})});
}

void transpose(const Op &op) {
  Value v = op.in(0);
  Perm perm = plain(v.rank());
  std::reverse(perm.begin(), perm.end());
  if (const auto given = op.integers("perm")) {
    perm.clear();
    for (int64_t a : *given) perm.push_back(static_cast<int>(op.axis_of(a, v.rank())));
  }
  Perm sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != plain(v.rank())) fail(Code::corrupt_file, "\"perm\" is not a permutation of the ", v.rank(), " axes");
  if (const auto t = op.constant(0)) {
    op.take(t->bytes());
    return op.give_constant(0, transposed(*t, perm), v.type);
  }
  if (v.sizes && !v.sizes->empty() && perm != plain(v.rank())) {
    const std::vector<Dim> elements = *v.sizes;
    size_t at = 0;  // among those in the new order
    Ints strides(perm.size(), 1);
    for (size_t i = perm.size(); i-- > 1;) strides[i - 1] = strides[i] * v.dims[i].factor;
    for (Dim &d : *v.sizes) {
      int64_t from = 0, rest = static_cast<int64_t>(at++);
      for (size_t i = perm.size(); i-- > 0;) {
        const auto axis = static_cast<size_t>(perm[i]);
        from += rest % v.dims[axis].factor * strides[axis], rest /= v.dims[axis].factor;
      }
      d = elements[static_cast<size_t>(from)];
    }
  }
  v.quantized.reset();
  if (v.around) v.around = transposed(*v.around, perm);
  // Nothing moves: only the value's axis numbers change.
  const Perm back = inverse(perm);
  const std::vector<Dim> dims = v.dims;
  for (size_t i = 0; i < perm.size(); ++i) v.dims[i] = dims[static_cast<size_t>(perm[i])];
  for (Form &f : v.forms)
    for (int &axis : f.perm) axis = back[static_cast<size_t>(axis)];
  op.give_value(0, std::move(v));
}

void squeeze(const Op &op) {
  Value &v = op.in(0);
  auto axes = op.integers("axes", 1);
  std::vector<bool> gone(static_cast<size_t>(v.rank()), false);
  if (axes)
    for (int64_t a : *axes) {
      const auto at = static_cast<size_t>(op.axis_of(a, v.rank()));
      if (v.dims[at].known() && v.dims[at].factor != 1)
        fail(Code::corrupt_file, "takes away axis ", at, " of ", v.dims[at].factor, " places");
      gone[at] = true;
    }
  else
    for (size_t i = 0; i < gone.size(); ++i) gone[i] = v.dims[i] == Dim{1, {}};
  std::vector<Dim> dims;
  for (size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) dims.push_back(v.dims[i]);
  if (v.at_hand() || dims.size() == gone.size()) return give_reshaped(op, dims);
  const Form form = v.forms[0];
  give_without(op, form.node, form.perm, v.dims, gone);
}

void unsqueeze(const Op &op) {
  Value &v = op.in(0);
  const auto axes = op.integers("axes", 1);
  if (!axes) fail(Code::corrupt_file, "has no \"axes\"");
  if (axes->size() > max_rank) op.refuse("gives a value of more than ", max_rank, " axes");
  const int rank = v.rank() + static_cast<int>(axes->size());
  if (rank > max_rank) op.refuse("gives a value of ", rank, " axes");
  std::vector<bool> is_new(static_cast<size_t>(rank), false);
  Ints places;
  for (int64_t a : *axes) {
    const int64_t at = op.axis_of(a, rank);
    if (is_new[static_cast<size_t>(at)]) fail(Code::corrupt_file, "names axis ", at, " twice");
    is_new[static_cast<size_t>(at)] = true;
    places.push_back(at);
  }
  std::vector<Dim> dims;
  Perm number;  // of the old axes
  for (size_t i = 0, old = 0; i < is_new.size(); ++i) {
    dims.push_back(is_new[i] ? Dim{1, {}} : v.dims[old]);
    if (!is_new[i]) number.push_back(static_cast<int>(i)), ++old;
  }
  if (v.at_hand()) return give_reshaped(op, dims);
  if (v.forms[0].perm == plain(v.rank()))
    return op.give(0, op.layer("ExpandDims", {{"axis", places}}, {op.x(0)}), dims);
  // New axes go to the front of a permuted value.
  const Form form = v.forms[0];
  std::sort(places.begin(), places.end());
  Perm perm(places.begin(), places.end());
  Ints front(places.size());
  std::iota(front.begin(), front.end(), 0);
  for (int axis : form.perm) perm.push_back(number[static_cast<size_t>(axis)]);
  op.give(0, op.layer("ExpandDims", {{"axis", front}}, {form.node}), dims, perm);
}

// ---- repetition ---------------------------------------------------------------------------------------------------

Node ones(const Op &op, const Ints &dims, DType type) {
  const Shape s(dims);
  op.take(checked_mul(s.elements(), size_of(type)));
  Tensor t = make_tensor(type, s);
  for (int64_t i = 0; i < s.elements(); ++i) ops::store(1, type, t.data.get() + i * size_of(type));
  return op.constant_node(std::move(t));
}

void expand(const Op &op) {
  Value &v = op.in(0);
  const std::vector<Dim> wanted = op.sizes_of(1);
  const size_t rank = std::max(v.dims.size(), wanted.size());
  if (rank > max_rank) op.refuse("gives a value of ", rank, " axes");
  std::vector<Dim> dims(rank, Dim{1, {}});
  Ints by(rank, 1);
  bool same = rank == v.dims.size(), free_axes = false;
  const auto t = op.constant(0);
  const bool one = t && t->elements() == 1;
  const auto of = [&](const std::vector<Dim> &list, size_t i) {
    return i + list.size() < rank ? Dim{1, {}} : list[i + list.size() - rank];
  };
  for (size_t i = 0; i < rank; ++i) {
    const Dim has = of(v.dims, i), want = of(wanted, i);
    dims[i] = want == Dim{1, {}} ? has : want;
    if (want == has || want == Dim{1, {}}) continue;
    same = false;
    if (!want.known()) {
      free_axes = true;
      if (const auto both = op.symbols().broadcast(has, want); has != Dim{1, {}})
        dims[i] = both ? *both : Dim{1, {op.r.fresh()}};
      continue;
    }
    if (want.factor < 0) fail(Code::corrupt_file, "expects an axis of ", want.factor);
    by[i] = want.factor;
  }
  if (same) return op.give_value(0, v);
  const bool free = std::any_of(dims.begin(), dims.end(), [](const Dim &d) { return !d.known(); });
  if (v.filled || (free && one)) return op.give_filled(op.number(0, 0), std::move(dims), v.dtype, v.type);
  if (free_axes) {
    std::vector<Dim> shape(rank, Dim{1, {}});
    for (size_t i = 0; i < rank; ++i) shape[i] = of(wanted, i);
    return op.give(0, op.spread(op.x(0), shape), dims);
  }
  const char *kind = v.dtype == DType::boolean ? "LogicalAnd" : "BroadcastMultiply";
  op.give(0, op.layer(kind, {}, {op.x(0), ones(op, by, v.dtype)}), dims);
}

void constant_of_shape(const Op &op) {
  const std::vector<Dim> wanted = op.sizes_of(0);
  Tensor one = make_zeros(DType::f32, {});
  Type type = Type::float32;
  if (const Attribute *a = op.node.find("value")) {
    if (!a->t) op.refuse("has a \"value\" that is not a tensor");
    one = read(*a->t, op.r.outside());
    type = a->t->type;
    if (one.elements() != 1) fail(Code::corrupt_file, "has a \"value\" of ", one.elements(), " numbers");
  }
  if (wanted.size() > max_rank) op.refuse("gives a value of ", wanted.size(), " axes");
  for (const Dim &d : wanted)
    if (d.known() && d.factor < 0) fail(Code::corrupt_file, "has an axis of ", d.factor);
  const Shape shape(sizes_of(wanted));
  if (!shape.known()) {
    const double number =
        one.dtype == DType::f32 ? static_cast<double>(one.as<float>()[0]) : static_cast<double>(ints_of(one)[0]);
    return op.give_filled(number, wanted, one.dtype, type);
  }
  op.take(checked_mul(shape.elements(), size_of(one.dtype)));
  Tensor t = make_tensor(one.dtype, shape);
  const auto each = static_cast<size_t>(size_of(one.dtype));
  const size_t all = static_cast<size_t>(t.bytes());
  if (all > 0) std::memcpy(t.data.get(), one.data.get(), each);
  for (size_t done = each; done < all; done *= 2)
    std::memcpy(t.data.get() + done, t.data.get(), std::min(done, all - done));
  op.give_constant(0, std::move(t), type);
}

void constant(const Op &op) {
  if (op.node.attributes.size() != 1) fail(Code::corrupt_file, "has ", op.node.attributes.size(), " values");
  const Attribute &a = op.node.attributes[0];
  if (a.name == "value" && a.t) {
    return op.give_constant(0, read(*a.t, op.r.outside()), a.t->type);
  }
  if (a.name == "value_int") return op.give_constant(0, tensor_of({op.integer("value_int")}, true));
  if (a.name == "value_ints") return op.give_constant(0, tensor_of(*op.integers("value_ints")));
  if (a.name == "value_string" || a.name == "value_strings") {
    Numbers list;
    list.name = a.name, list.type = Type::string, list.packed = a.name == "value_string" ? std::vector{a.s} : a.strings;
    if (a.name == "value_strings") list.dims = {static_cast<int64_t>(a.strings.size())};
    return op.give_constant(0, read(list, op.r.outside()), Type::string);
  }
  if (a.name != "value_float" && a.name != "value_floats")
    throw Error(Code::unsupported, text("\"", std::string(a.name), "\" is not supported"));
  const std::vector<double> list = a.name == "value_float" ? std::vector{op.real("value_float")} : a.floats;
  const Shape shape = a.name == "value_float" ? Shape{} : Shape{static_cast<int64_t>(list.size())};
  op.give_constant(0, tensor_of(list, shape));
}

// With free counts: repeats the positions of each axis.
void tile_by_sizes(const Op &op, const std::vector<Dim> &times) {
  Value &v = op.in(0);
  if (times.size() != v.dims.size()) fail(Code::corrupt_file, "has no \"repeats\" for each axis");
  Node x = op.x(0);
  std::vector<Dim> dims = v.dims;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] == Dim{}) continue;
    const Dim n = dims[i];
    dims[i] = n * times[i];
    const Node places = op.layer("Mod", {}, {op.places(dims[i]), op.number(n)});
    x = op.layer("Take", {{"axis", i}}, {x, places});
  }
  op.give(0, x, dims);
}

void tile(const Op &op) {
  if (op.has(1) && !op.constant(1)) return tile_by_sizes(op, op.sizes_of(1));
  const auto times = op.integers("repeats", 1);
  Value &v = op.in(0);
  if (!times || times->size() != v.dims.size()) fail(Code::corrupt_file, "has no \"repeats\" for each axis");
  Node x = op.x(0);
  std::vector<Dim> dims = v.dims;
  for (size_t i = 0; i < times->size(); ++i) {
    const int64_t n = (*times)[i];
    if (n < 0 || n > 100000) op.refuse("repeats axis ", i, ' ', n, " times");
    dims[i] = dims[i] * Dim{n, {}};
    if (n == 0)
      x = op.cut(x, static_cast<int>(i), 0, 0);
    else if (n > 1)
      x = op.layer("Concatenate", {{"axis", i}}, std::vector<Node>(static_cast<size_t>(n), x));
  }
  op.give(0, x, dims);
}

// ---- joins and splits ---------------------------------------------------------------------------------------------

void concat(const Op &op) {
  std::vector<Dim> all;
  size_t n = 0;
  for (size_t i = 0; i < op.inputs(); ++i)
    if (const Value &v = op.in(i); v.rank() == 1 && v.dims[0].known()) n += static_cast<size_t>(v.dims[0].factor);
  bool sizes = op.in(0).rank() == 1 && n <= most_listed;
  for (size_t i = 0; i < op.inputs() && sizes; ++i) {
    const auto list = op.sizes(i);
    sizes = list.has_value();
    if (list) all.insert(all.end(), list->begin(), list->end());
  }
  if (sizes) return op.give_sizes(0, std::move(all), false, op.in(0).onnx_type());
  const int rank = op.in(0).rank();
  const auto axis = static_cast<size_t>(op.axis_of(op.integer("axis", 1), rank));
  Perm perm = plain(rank);
  Dim whole{0, {}};
  bool filled = true;
  for (size_t i = 0; i < op.inputs(); ++i) {
    Value &v = op.in(i);
    if (v.rank() != rank) fail(Code::corrupt_file, "joins values of ", rank, " and ", v.rank(), " axes");
    if (v.perm() != plain(rank)) perm = v.perm();
    filled &= v.filled && v.filled == op.in(0).filled;
    const Dim &d = v.dims[axis];
    whole = op.symbols().sum(whole, d);
  }
  std::vector<Dim> dims = op.in(0).dims;
  dims[axis] = whole;
  if (filled) {
    Value all = op.in(0);
    all.dims = std::move(dims);
    return op.give_value(0, std::move(all));
  }
  std::vector<Node> in;
  for (size_t i = 0; i < op.inputs(); ++i)
    if (!(op.in(i).dims[axis] == Dim{0, {}})) in.push_back(op.as(op.in(i), perm));
  if (in.empty()) in.push_back(op.as(op.in(0), perm));
  const int at = inverse(perm)[axis];
  op.give(0, op.layer("Concatenate", {{"axis", at}}, in), dims, perm);
}

// Splits a free axis into equal parts, the last possibly shorter.
void split_free(const Op &op, size_t axis) {
  Value &v = op.in(0);
  Symbols &s = op.symbols();
  const auto parts = static_cast<int64_t>(op.node.out.size());
  if (op.integer("num_outputs", parts) != parts) fail(Code::corrupt_file, "says it has another number of outputs");
  const Dim whole = v.dims[axis], none{0, {}}, each = *s.quotient(s.sum(whole, Dim{parts - 1, {}}), Dim{parts, {}});
  const Perm perm = v.perm();
  const int at = inverse(perm)[axis];
  const Node x = op.as(v, perm);
  for (int64_t i = 0; i < parts; ++i) {
    const Dim begin = Dim{i, {}} * each;
    std::vector<Dim> dims = v.dims;
    dims[axis] = i + 1 < parts ? each : s.sum(whole, begin, -1);
    if (!s.not_negative(dims[axis])) dims[axis] = s.largest(dims[axis], none);
    Node places = op.places(dims[axis]);
    if (i > 0) places = plus(op, places, op.number(begin));
    op.give(static_cast<size_t>(i), op.layer("Take", {{"axis", at}}, {x, places}), dims, perm);
  }
}

void split(const Op &op) {
  Value &v = op.in(0);
  const auto axis = static_cast<size_t>(op.axis(v.rank()));
  const auto parts = static_cast<int64_t>(op.node.out.size());
  auto given = op.integers("split", 1);
  const Dim whole = v.dims[axis];
  if (!given && !whole.known()) return split_free(op, axis);
  if (!given) {
    const int64_t n = op.integer("num_outputs", parts), each = n == parts ? (whole.factor + n - 1) / n : 0;
    given = Ints(static_cast<size_t>(parts), each);
    if (n != parts || n == 0) fail(Code::corrupt_file, "says it has ", n, " outputs, and has ", parts);
    given->back() = whole.factor - each * (n - 1);
  }
  int64_t at = 0;
  for (int64_t n : *given) at = n < 0 ? -1 : at < 0 ? at : checked_add(at, n);
  if (at < 0 || given->size() != op.node.out.size() || (whole.known() && at != whole.factor))
    fail(Code::corrupt_file, "has sizes that are not those of its axis");
  if (const auto listed = v.rank() == 1 ? op.elements(0) : std::nullopt) {
    auto from = listed->begin();
    for (size_t i = 0; i < given->size(); from += (*given)[i++])
      op.give_sizes(i, {from, from + (*given)[i]}, false, v.onnx_type());
    return;
  }
  const Perm perm = v.perm();
  const Node x = op.as(v, perm);
  at = 0;
  for (size_t i = 0; i < given->size(); ++i) {
    const int64_t n = (*given)[i];
    std::vector<Dim> dims = v.dims;
    dims[axis] = Dim{n, {}};
    if (op.wants(i)) op.give(i, op.cut(x, inverse(perm)[axis], at, n), dims, perm);
    at += n;
  }
}

// Moves blocks between channels and positions: reshape, transpose, reshape.
void blocks(const Op &op, const std::vector<Dim> &apart, const Ints &order, const std::vector<Dim> &joined) {
  const Node x = with_dims(op, op.x(0), op.in(0).dims, apart);
  const Node y = op.layer("Transpose", {{"perm", order}}, {x});
  std::vector<Dim> turned;
  for (int64_t axis : order) turned.push_back(apart[static_cast<size_t>(axis)]);
  op.give(0, with_dims(op, y, turned, joined), joined);
}

std::vector<Dim> image(const Op &op, int64_t b) {
  std::vector<Dim> d = op.in(0).dims;
  if (d.size() != 4 || b < 1 || b > 4096)
    fail(Code::corrupt_file, "expects an image of four axes and a block of 1 or more");
  for (size_t i = 1; i < 4; ++i)
    if (!d[i].known()) op.refuse("of an image with free axes is not supported");
  return d;
}

void depth_to_space(const Op &op) {
  const int64_t b = op.integer("blocksize");
  const auto d = image(op, b);
  const Dim block{b, {}}, channels{d[1].factor / (b * b), {}};
  if (d[1].factor % (b * b) != 0) fail(Code::corrupt_file, "has ", d[1].factor, " channels for blocks of ", b);
  const std::vector<Dim> joined{d[0], channels, d[2] * block, d[3] * block};
  if (op.string("mode") == "DCR")
    return blocks(op, {d[0], block, block, channels, d[2], d[3]}, {0, 3, 4, 1, 5, 2}, joined);
  blocks(op, {d[0], channels, block, block, d[2], d[3]}, {0, 1, 4, 2, 5, 3}, joined);
}

void space_to_depth(const Op &op) {
  const int64_t b = op.integer("blocksize");
  const auto d = image(op, b);
  if (d[2].factor % b != 0 || d[3].factor % b != 0) fail(Code::corrupt_file, "has blocks that do not fit");
  const Dim block{b, {}}, h{d[2].factor / b, {}}, w{d[3].factor / b, {}};
  const std::vector<Dim> apart{d[0], d[1], h, block, w, block}, joined{d[0], d[1] * block * block, h, w};
  if (op.string("mode") == "DCR") return blocks(op, apart, {0, 3, 5, 1, 2, 4}, joined);
  blocks(op, apart, {0, 1, 3, 5, 2, 4}, joined);
}

}  // namespace

constexpr Row shape_table[] = {
    {"Shape", shape, "data > shape; end@15:int start@15=0"},
    {"Size", size, "data > size"},
    {"Reshape", reshape, "data shape@5 > reshaped=data; allowzero@14=0|1 consumed_inputs@-4:ints shape@-4:ints"},
    {"Flatten", flatten, "input > output=input; axis=1"},
    {"Transpose", transpose, "data > transposed=data; perm:ints"},
    {"Squeeze", squeeze, "data axes?@13 > squeezed=data; axes@-12:ints"},
    {"Unsqueeze", unsqueeze, "data axes@13 > expanded=data; axes@-12:ints!"},
    {"Expand", expand, "input shape > output=input"},
    {"ConstantOfShape", constant_of_shape, "input > output; value:tensor"},
    {"Constant", constant,
     " > output; sparse_value@11:sparse_tensor value@-10:tensor! value@11:tensor value_float@12:float "
     "value_floats@12:floats value_int@12:int value_ints@12:ints value_string@12:string "
     "value_strings@12:strings"},
    {"Tile", tile, "input repeats axis@-5 > output=input"},
    {"Concat", concat, "inputs+ > concat_result=inputs; axis@-3:int axis@4:int!"},
    {"Split", split,
     "input split?@-1 split?@13 > outputs+=input; axis@-1:int axis@2=0 num_outputs@18:int "
     "split@-12:ints"},
    {"DepthToSpace", depth_to_space, "input > output=input; blocksize:int! mode@11=DCR|CRD"},
    {"SpaceToDepth", space_to_depth, "input > output=input; blocksize:int! mode@28=DCR|CRD"},
};
const std::span<const Row> shape_rows = shape_table;

}  // namespace dl4::io::onnx
