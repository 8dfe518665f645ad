// A node being read: its attributes, its inputs in the layout a layer needs, its outputs.
#include <cmath>
#include <numeric>

#include "io/onnx/reader.hpp"
#include "io/onnx/types.hpp"

namespace dl4::io::onnx {

Perm::Perm(size_t rank) : rank_(static_cast<uint32_t>(rank)) {
  if (rank > axes_.size()) fail(Code::invalid_argument, "rank ", rank, " is past the limit of ", max_rank);
}
void Perm::insert(int *at, int axis) {
  if (rank_ == axes_.size()) fail(Code::invalid_argument, "rank ", rank_ + 1, " is past the limit of ", max_rank);
  std::copy_backward(at, end(), end() + 1);
  *at = axis;
  ++rank_;
}
void Perm::erase(int *at) {
  std::copy(at + 1, end(), at);
  --rank_;
}

Perm plain(int rank) {
  Perm p(static_cast<size_t>(rank));
  std::iota(p.begin(), p.end(), 0);
  return p;
}

Perm channels_last(int rank) {
  Perm p = plain(rank);
  if (rank > 2) std::rotate(p.begin() + 1, p.begin() + 2, p.end());
  return p;
}

Perm inverse(const Perm &perm) {
  Perm back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  return back;
}

Tensor tensor_of(const Ints &list, bool scalar) {
  Tensor t = make_tensor(DType::i64, scalar ? Shape{} : Shape{static_cast<int64_t>(list.size())});
  std::copy(list.begin(), list.end(), t.as<int64_t>());
  return t;
}

Tensor tensor_of(const Ints &list, DType type, const Shape &shape) {
  Tensor t = make_tensor(type, shape);
  for (size_t i = 0; i < list.size(); ++i)
    if (type == DType::i64)
      t.as<int64_t>()[i] = list[i];
    else if (type == DType::i32)
      t.as<int32_t>()[i] = static_cast<int32_t>(list[i]);
    else
      t.as<uint8_t>()[i] = static_cast<uint8_t>(list[i]);
  return t;
}

Tensor tensor_of(const std::vector<double> &list, const Shape &shape) {
  Tensor t = make_tensor(DType::f32, shape);
  std::ranges::transform(list, t.as<float>(), [](double v) { return static_cast<float>(v); });
  return t;
}

Tensor scalar(double v, DType type) {
  Tensor t = make_tensor(type, {});
  ops::store(v, type, t.data.get());
  return t;
}

Ints sizes_of(const std::vector<Dim> &dims) {
  Ints sizes;
  for (const Dim &d : dims) sizes.push_back(d.known() ? d.factor : free_dim);
  return sizes;
}

std::vector<Dim> dims_of(const Shape &shape) {
  std::vector<Dim> dims;
  for (int64_t d : shape) dims.push_back({d, {}});
  return dims;
}

Value constant_value(Tensor t, Type type) {
  Value v;
  v.type = type, v.dtype = t.dtype, v.dims = dims_of(t.shape);
  v.constant = std::move(t);
  return v;
}

bool holds(Type type, int64_t v) {
  if (type == Type::boolean) return v == 0 || v == 1;
  return is_integer(type) ? wrapped(type, v) == v && (is_signed(type) || v >= 0) : true;
}

Type Value::onnx_type() const {
  if (type != Type::none) return type;
  if (dtype == DType::string) return Type::string;
  for (Type t : {Type::float32, Type::int32, Type::int64, Type::boolean})
    if (dtype == stands_for(t)) return t;
  return Type::uint8;
}

Ints ints_of(const Tensor &t) {
  if (t.dtype == DType::i64) return {t.as<int64_t>(), t.as<int64_t>() + t.elements()};
  Ints list;
  const bool small = t.dtype == DType::u8 || t.dtype == DType::boolean;
  for (int64_t i = 0; i < t.elements(); ++i) {
    if (!small && t.dtype != DType::i32) fail(Code::unsupported, "expected integers, got ", t.dtype);
    list.push_back(small ? t.as<uint8_t>()[i] : t.as<int32_t>()[i]);
  }
  return list;
}

Value &Op::any(size_t i) const {
  if (!has(i)) fail(Code::corrupt_file, "has no input ", i);
  return r.value(node.in[i]);
}

Value &Op::in(size_t i) const {
  Value &v = any(i);
  if (v.list) refuse("expected a tensor as input ", i, ", got a sequence of ", v.list->size());
  if (v.absent) refuse("expected a tensor as input ", i, ", got an Optional without a value");
  return v;
}

namespace {

const Attribute *typed(const NodeProto &node, std::string_view name, int64_t type) {
  const Attribute *a = node.find(name);
  if (a && a->type != type) fail(Code::internal, "the attribute \"", std::string(name), "\" is of another type");
  return a;
}

}  // namespace

std::string_view Op::default_of(const char *name) const {
  auto a = row ? Schema(row->schema, r.opset(node.domain)).attribute(name) : std::nullopt;
  if (row && (!a || a->values.empty())) a = Schema(row->schema, newest_opset).attribute(name);  // as in earlier opsets
  if (!a || a->values.empty()) fail(Code::internal, "the attribute \"", name, "\" has no default");
  return a->otherwise();
}
int64_t Op::integer(const char *name) const {
  const Attribute *a = typed(node, name, 2);
  return a ? a->i : Json::parse(default_of(name)).get<int64_t>();
}
double Op::real(const char *name) const {
  const Attribute *a = typed(node, name, 1);
  return a ? a->f : static_cast<double>(static_cast<float>(Json::parse(default_of(name)).get<double>()));
}
std::string Op::string(const char *name) const {
  const Attribute *a = typed(node, name, 3);
  return std::string(a ? a->s : default_of(name));
}
std::optional<Ints> Op::integers(const char *name) const {
  const Attribute *a = typed(node, name, 7);
  return a ? std::optional(a->ints) : std::nullopt;
}

std::optional<Ints> Op::integers(const char *name, size_t input) const {
  if (const auto given = integers(name)) return given;
  if (!has(input)) return {};
  const auto t = constant(input);
  if (!t) refuse("its input \"", std::string(name), "\" is computed by the model; it must be a constant");
  if (t->shape.rank() > 1) fail(Code::corrupt_file, "has \"", std::string(name), "\" of ", t->shape.rank(), " axes");
  take(8 * t->elements());
  return ints_of(*t);
}

int64_t Op::axis_of(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) fail(Code::corrupt_file, "has the axis ", axis, " of a value of ", rank, " axes");
  return axis < 0 ? axis + rank : axis;
}

std::optional<std::vector<Dim>> Op::sizes(size_t i) const { return in(i).rank() > 1 ? std::nullopt : elements(i); }

std::optional<std::vector<Dim>> Op::elements(size_t i) const {
  Value &v = in(i);
  if (v.sizes) return v.sizes;
  if (v.asked && v.dtype == DType::boolean) return std::vector<Dim>{answer(*v.asked)};
  if (!v.constant || v.constant->dtype == DType::f32 || v.constant->dtype == DType::string ||
      v.constant->elements() > static_cast<int64_t>(most_listed))
    return {};
  std::vector<Dim> list;
  for (int64_t n : ints_of(*v.constant)) list.push_back({n, {}});
  return list;
}

std::optional<Tensor> Op::constant(size_t i) const { return constant_of(in(i)); }

std::optional<Tensor> Op::constant_of(Value &v) const {
  if (v.constant || !v.sizes || !std::all_of(v.sizes->begin(), v.sizes->end(), [](const Dim &d) { return d.known(); }))
    return v.constant;
  return v.constant = tensor_of(onnx::sizes_of(*v.sizes), v.dtype, Shape(onnx::sizes_of(v.dims)));
}

Tensor Op::floats(size_t i, const char *what) const {
  auto t = constant(i);
  if (!t) t = in(i).around;
  if (!t || t->dtype != DType::f32) refuse("its ", what, " is computed by the model; it must be a constant of floats");
  return *t;
}

double Op::number(size_t i, double otherwise) const {
  if (!has(i)) return otherwise;
  if (const auto &filled = in(i).filled) return *filled;
  const auto t = constant(i);
  if (!t || t->elements() != 1) refuse("its input ", i, " is computed by the model; it must be a constant number");
  return t->dtype == DType::f32 ? static_cast<double>(t->as<float>()[0]) : static_cast<double>(ints_of(*t)[0]);
}

Node Op::constant_node(Tensor t) const {
  return t.dtype == DType::string ? constant_texts(t) : r.constant(std::move(t));
}

// The size, or the result of the question as 1 or 0.
Dim Op::answer(const Asked &asked) const {
  if (asked.what == Asked::What::number) return asked.size;
  if (asked.what == Asked::What::is_one) return symbols().equal(asked.size, Dim{});
  return symbols().less(Dim{asked.than, {}}, asked.size);
}

Node Op::as(Value &v, const Perm &perm) const {
  for (const Form &f : v.forms)
    if (f.perm == perm) return f.node;
  if (v.forms.empty()) {
    const std::optional<Tensor> t = constant_of(v);
    if (!t) {
      const auto listed = v.asked ? std::vector{answer(*v.asked)} : v.sizes;
      const auto shaped = [&](Node list) { return cast(reshape(list, onnx::sizes_of(v.dims)), v.dtype); };
      v.forms.push_back({plain(v.rank()), listed ? shaped(numbers(*listed)) : repeated(v)});
      return as(v, perm);
    }
    take(t->bytes());
    v.forms.push_back({perm, constant_node(perm == plain(v.rank()) ? *t : transposed(*t, perm))});
    return v.forms[0].node;
  }
  const Perm at = inverse(v.forms[0].perm);
  Perm turn;
  for (int axis : perm) turn.push_back(at[static_cast<size_t>(axis)]);
  take(layer_bytes);
  const Node n = r.graph().add("Transpose", r.free_name("transpose"), {{"perm", Ints(turn.begin(), turn.end())}}, {},
                               {v.forms[0].node})[0];
  v.forms.push_back({perm, n});
  return n;
}

// A number repeated along free axes.
Node Op::repeated(const Value &v) const {
  const Node none = zeros(v.dims);
  const double number = v.filled.value_or(0);
  if (v.dtype == DType::boolean) return number == 0 ? none : layer("LogicalNot", {}, {none});
  const Node value = constant_node(scalar(number, v.dtype));
  return layer("Where", {}, {none, value, value});
}

Node Op::of_sizes(const char *kind, const char *what, const std::vector<Dim> &list) const {
  std::vector<Node> like;
  std::map<Node, size_t> places;
  std::vector<std::string> formulas;
  int64_t bytes = 0;
  for (const Dim &d : list) {
    formulas.push_back(symbols().formula(d, [&](int symbol) {
      const auto [node, axis] = r.axis_of(symbol);
      const auto [it, is_new] = places.try_emplace(node, like.size());
      if (is_new) like.push_back(node);
      return text(it->second, '.', axis);
    }));
    bytes = checked_add(bytes, 2 * static_cast<int64_t>(formulas.back().size()));
  }
  take(bytes);
  if (like.empty()) like.push_back(constant_node(tensor_of({}, false)));
  return layer(kind, {{what, formulas}}, like);
}
Node Op::numbers(const std::vector<Dim> &list) const { return of_sizes("Sizes", "sizes", list); }
Node Op::number(const Dim &d) const { return layer("Squeeze", {{"axis", 0}}, {numbers({d})}); }
Node Op::zeros(const std::vector<Dim> &shape) const { return of_sizes("Zeros", "shape", shape); }

Node Op::places(const Dim &n) const {
  const auto at = n.factor == 1 && n.symbols.size() == 1 ? r.axis_of_size(n) : std::nullopt;
  if (!at) return cast(layer("Arange", {{"axis", 0}}, {zeros({n})}), DType::i64);
  const Form &form = at->first->forms[0];
  return cast(layer("Arange", {{"axis", inverse(form.perm)[static_cast<size_t>(at->second)]}}, {form.node}),
              DType::i64);
}

Node Op::spread(Node x, const std::vector<Dim> &shape) const {
  const Node none = zeros(shape);
  if (r.graph().dtype(x) == DType::boolean) return layer("LogicalOr", {}, {x, none});
  return layer("Where", {}, {none, x, x});
}

void Op::need_counting() const {
  if (!r.counts()) refuse("gives a size that is computed in a body of Loop or Scan, which is not supported");
}

Op::Counted Op::counted(Node number) const {
  need_counting();
  const Node places = layer("Range", {}, {number});
  const Dim size{1, {r.fresh()}};
  r.is_size_of(size.symbols[0], places, 0);
  return {size, places};
}

std::vector<Dim> Op::sizes_of(Value &list) const {
  const bool one = list.rank() == 0;
  if (list.rank() > 1 || (!one && !list.dims[0].known()) || (list.dtype != DType::i32 && list.dtype != DType::i64))
    refuse("of sizes that are no list of integers of known length is not supported");
  const int64_t n = one ? 1 : list.dims[0].factor;
  if (n > max_rank) refuse("has ", n, " sizes");
  const Node numbers = as(list, plain(list.rank()));
  std::vector<Dim> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(counted(one ? numbers : reshape(cut(numbers, 0, i, 1), {})).size);
  return all;
}

std::vector<Dim> Op::sizes_of(size_t i) const {
  const auto known = sizes(i);
  return known ? *known : sizes_of(in(i));
}

std::string Op::layer_name() const {
  const std::string_view given = !node.name.empty() ? node.name : node.op;
  return r.free_name(std::string(given));
}

Node Op::layer(const char *kind, Json::List config, ArrayRef<Node> in) const { return layers(kind, config, in)[0]; }
Node Op::layer(const char *kind, Json config, ArrayRef<Node> in) const {
  return layers(kind, std::move(config), in)[0];
}
Node Op::weighted(const char *kind, Json config, ArrayRef<Node> in, const Weights &weights) const {
  return layers(kind, std::move(config), in, {}, weights)[0];
}

std::vector<Node> Op::layers(const char *kind, Json config, ArrayRef<Node> in, graph::Arguments arguments,
                             const Weights &weights) const {
  graph::Graph &g = r.graph();
  int64_t bytes = checked_add(layer_bytes, 64 * static_cast<int64_t>(in.size()));
  for (const auto &[name, t] : weights) bytes = checked_add(bytes, t.bytes());  // copied for the layer
  take(bytes);
  const auto out = g.add(kind, layer_name(), std::move(config), std::move(arguments), {in.begin(), in.end()});
  for (const auto &w : g.layers().back().weights) {
    const auto it =
        std::find_if(weights.begin(), weights.end(), [&](const auto &p) { return p.first == w->spec.name; });
    if (it == weights.end()) fail(Code::internal, "weight \"", w->name, "\" has no value");
    if (it->second.dtype != DType::f32 || it->second.shape != w->spec.shape)
      throw Error(Code::corrupt_file, text("weight \"", w->name, "\": expected float32 ", w->spec.shape,
                                           ", the file has ", it->second.dtype, ' ', it->second.shape));
    w->value() = it->second;
  }
  return out;
}

Node Op::cut(Node x, int at, int64_t begin, int64_t size) const {
  const auto rank = static_cast<size_t>(shape(x).rank());
  Ints start(rank, 0), sizes(rank, -1);
  start[static_cast<size_t>(at)] = begin, sizes[static_cast<size_t>(at)] = size;
  return layer("Slice", {{"start_indices", start}, {"shape", sizes}}, {x});
}

Node Op::reshape(Node n, const Ints &target) const {
  const Node wide = layer("ExpandDims", {{"axis", 0}}, {n});
  return layer("Squeeze", {{"axis", 0}}, {layer("Reshape", {{"target_shape", target}}, {wide})});
}

Node Op::cast(Node n, DType to) const {
  return r.graph().dtype(n) == to ? n : layer("Cast", {{"to", to_string(to)}}, {n});
}

void Op::give(size_t i, Node n, ArrayRef<Dim> dims, Perm perm, bool not_negative) const {
  if (!wants(i)) return;
  Value v;
  v.not_negative = not_negative;
  const Shape s = shape(n);
  if (perm.empty()) perm = plain(s.rank());
  v.dtype = r.graph().dtype(n);
  v.dims.resize(static_cast<size_t>(s.rank()));
  for (int at = 0; at < s.rank(); ++at) {
    const auto axis = static_cast<size_t>(perm[static_cast<size_t>(at)]);
    if (s[at] != free_dim)
      v.dims[axis] = {s[at], {}};
    else if (axis < dims.size() && !dims[axis].known())
      v.dims[axis] = dims[axis];
    else
      v.dims[axis] = {1, {r.fresh()}};
  }
  v.forms.push_back({perm, n});
  r.set(node.out[i], std::move(v));
}

void Op::of_type(size_t i, Type type) const {
  if (wants(i)) r.value(node.out[i]).type = type;
}

void Op::give_value(size_t i, Value v) const {
  if (wants(i)) r.set(node.out[i], std::move(v));
}

void Op::give_constant(size_t i, Tensor t, Type type) const { give_value(i, constant_value(std::move(t), type)); }

void Op::give_filled(double number, std::vector<Dim> dims, DType dtype, Type type) const {
  if (dtype != DType::f32 && std::abs(number) > 0x1p53) refuse("repeats a number past 2^53 along a free axis");
  Value v;
  v.type = type;
  v.dtype = dtype;
  v.dims = std::move(dims);
  v.filled = number;
  give_value(0, std::move(v));
}

void Op::give_elements(size_t i, std::vector<Dim> elements, std::vector<Dim> dims, Type type) const {
  Value v;
  v.type = type;
  v.dtype = stands_for(type);
  v.dims = std::move(dims);
  v.sizes = std::move(elements);
  give_value(i, std::move(v));
}

void Op::give_sizes(size_t i, std::vector<Dim> sizes, bool scalar, Type type) const {
  std::vector<Dim> dims;
  if (!scalar) dims.push_back({static_cast<int64_t>(sizes.size()), {}});
  give_elements(i, std::move(sizes), std::move(dims), type);
}

std::vector<Dim> Op::broadcast(const std::vector<const Value *> &values) const {
  size_t rank = 0;
  for (const Value *v : values) rank = std::max(rank, v->dims.size());
  std::vector<Dim> dims(rank, Dim{1, {}});
  for (const Value *v : values)
    for (size_t i = 0; i < v->dims.size(); ++i) {
      const Dim &d = v->dims[i];
      Dim &to = dims[i + rank - v->dims.size()];
      const auto both = symbols().broadcast(to, d);
      to = both ? *both : Dim{1, {r.fresh()}};
    }
  return dims;
}

}  // namespace dl4::io::onnx
