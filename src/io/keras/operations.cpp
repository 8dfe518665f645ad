// Converts Keras's operations to one or a few layers: shared code. Of those that are single layers the kinds list the
// names; this file says how each is called.
#include "io/keras/operations.hpp"

#include <cmath>
#include <numeric>

#include "io/keras/json.hpp"
#include "io/keras/operation.hpp"
#include "kinds/layers/elementwise/functions.hpp"

namespace dl4::io::keras {
namespace {

using Form = KerasOperation::Form;

// Kinds whose call differs from one tensor with attributes.
constexpr std::pair<std::string_view, Form> forms[] = {
    {"Sum", Form::reduction},      {"Mean", Form::reduction},      {"Max", Form::reduction},
    {"Min", Form::reduction},      {"Prod", Form::reduction},      {"Var", Form::reduction},
    {"Std", Form::reduction},      {"Logsumexp", Form::reduction}, {"Any", Form::reduction},
    {"All", Form::reduction},      {"Sort", Form::elementwise},    {"Argsort", Form::elementwise},
    {"Cumsum", Form::elementwise}, {"Cumprod", Form::elementwise}, {"TopK", Form::elementwise},
    {"Clip", Form::elementwise},   {"Softmax", Form::elementwise}, {"MatMul", Form::two},
    {"SegmentSum", Form::two},     {"SegmentMax", Form::two},
};

Form form_of(const kinds::Entry &e) {
  if (const kinds::Function *f = kinds::function(e.name)) return f->operands() == 2 ? Form::pair : Form::elementwise;
  const auto *it = std::ranges::find(forms, e.name.view(), &std::pair<std::string_view, Form>::first);
  return it == std::end(forms) ? Form::one : it->second;
}

const std::vector<KerasOperation> &operations() {
  static const std::vector<KerasOperation> all = [] {
    std::vector<KerasOperation> list;
    for (const kinds::Entry *e : kinds::entries("layer")) {
      const std::string keras = e->keras();
      const size_t dot = keras.find('.');
      if (keras.starts_with("keras.") || (dot == std::string::npos && !kinds::function(e->name))) continue;
      const bool only_read = dot == std::string::npos;  // of TensorFlow
      list.push_back({only_read ? std::string(e->name) : keras.substr(dot + 1), e, form_of(*e),
                      only_read ? "" : "keras.src.ops." + keras.substr(0, dot)});
    }
    return list;
  }();
  return all;
}

}  // namespace

const KerasOperation *keras_operation(std::string_view name) {
  for (const KerasOperation &o : operations())
    if (o.name == name) return &o;
  for (const KerasOperation &o : operations())
    if (o.kind->has_alias(name)) return &o;
  return nullptr;
}

const KerasOperation *keras_operation_of(std::string_view kind) {
  const auto it = std::ranges::find_if(
      operations(), [&](const KerasOperation &o) { return o.kind->name == kind && !o.module.empty(); });
  return it == operations().end() ? nullptr : &*it;
}

namespace {

// Functions of keras.ops.nn, whose snake-case names are those of activations.
bool is_activation(std::string_view name) {
  const auto &all = kinds::entries("activation");
  const std::string wanted = kinds::snake_case(std::string(name));
  return std::any_of(all.begin(), all.end(), [&](const kinds::Entry *e) { return e->name == wanted; });
}

// Python's numbers that JSON lacks.
bool is_past_numbers(const Json &j) { return j == "Infinity" || j == "-Infinity" || j == "NaN"; }

double float_of(const Json &j) {
  if (j.is_boolean()) return j.get<bool>();
  if (!is_past_numbers(j)) return j.get<double>();
  return j == "NaN" ? std::nan("") : j == "Infinity" ? HUGE_VAL : -HUGE_VAL;
}

void flatten(const Json &j, size_t depth, std::vector<int64_t> &dims, std::vector<const Json *> &to, bool &fits) {
  if (j.is_array()) {
    if (depth == dims.size() && to.empty()) dims.push_back(static_cast<int64_t>(j.size()));
    fits = fits && depth < dims.size() && dims[depth] == static_cast<int64_t>(j.size()) && depth < max_rank;
    for (const Json &item : j)
      if (fits) flatten(item, depth + 1, dims, to, fits);
    return;
  }
  fits = fits && depth == dims.size() && (j.is_number() || j.is_boolean() || is_past_numbers(j));
  if (fits) to.push_back(&j);
}

bool any_of(const Json &j, const std::function<bool(const Json &)> &holds) {
  return j.is_array() ? std::any_of(j.begin(), j.end(), [&](const Json &item) { return any_of(item, holds); })
                      : holds(j);
}

}  // namespace

std::optional<Tensor> numbers_of(const Json &j, std::optional<DType> dtype) {
  std::vector<int64_t> dims;
  std::vector<const Json *> numbers;
  bool fits = true;
  flatten(j, 0, dims, numbers, fits);
  if (!fits) return {};
  if (!dtype)
    dtype = any_of(j, [](const Json &n) { return (n.is_number() && !n.is_integer()) || n.is_string(); }) ? DType::f32
            : any_of(j, [](const Json &n) { return n.is_number(); })                                     ? DType::i32
            : numbers.empty()                                                                            ? DType::f32
                              : DType::boolean;
  if (*dtype == DType::f64) dtype = DType::f32;
  Tensor t = make_tensor(*dtype, Shape(dims));
  for (size_t i = 0; i < numbers.size(); ++i)
    if (*dtype == DType::i64 && numbers[i]->is_int64())  // not representable in double
      t.as<int64_t>()[i] = numbers[i]->get<int64_t>();
    else
      ops::store(float_of(*numbers[i]), *dtype, t.data.get() + i * static_cast<size_t>(size_of(*dtype)));
  return t;
}

Operation::Operation(Graph &g, const Architecture::Layer &layer, int64_t call, const Json &arguments, Nodes in)
    : g_(g),
      name_(call == 0 ? layer.name : text(layer.name, "__call_", call)),
      class_(layer.class_name),
      config_(layer.config),
      args_(arguments.at("args")),
      in_(std::move(in)) {
  for (const char *of_every_layer : {"name", "trainable", "dtype_policy"}) config_.erase(of_every_layer);
  for (const auto &[key, v] : arguments.at("kwargs").items())
    if (!v.is_null()) config_[key] = v;
  for (const char *unused : {"initial", "dtype"})
    if (const Json *v = config_.find(unused); v && (v->is_null() || v->is_object())) config_.erase(unused);
}

const Operation::Row *Operation::row_of(std::string_view name) {
  static constexpr Row rows[] = {{"Slice", &Operation::add_slice},
                                 {"Matmul", &Operation::add_matmul},
                                 {"Round", &Operation::add_rounded},
                                 {"ConvertToTensor", &Operation::add_same},
                                 {"Copy", &Operation::add_same},
                                 {"Concatenate", &Operation::add_listed},
                                 {"OneHot", &Operation::add_one_hot},
                                 {"Pad", &Operation::add_pad},
                                 {"Einsum", &Operation::add_einsum},
                                 {"AddN", &Operation::add_sum},
                                 {"Argmax", &Operation::add_argmax},
                                 {"Argmin", &Operation::add_argmax},
                                 {"MaxPool", &Operation::add_pool},
                                 {"AveragePool", &Operation::add_pool},
                                 {"DepthToSpace", &Operation::add_blocks},
                                 {"SpaceToDepth", &Operation::add_blocks},
                                 {"Resize", &Operation::add_resize},
                                 {"FlipWidth", &Operation::add_flip_width},
                                 {"MatrixTranspose", &Operation::add_matrix_transpose},
                                 {"Stack", &Operation::add_listed},
                                 {"Transpose", &Operation::add_transpose},
                                 {"ZerosLike", &Operation::add_filled},
                                 {"OnesLike", &Operation::add_filled},
                                 {"Swapaxes", &Operation::add_swapped},
                                 {"Moveaxis", &Operation::add_moved},
                                 {"Reshape", &Operation::add_reshape},
                                 {"Where", &Operation::add_where},
                                 {"Take", &Operation::add_take},
                                 {"GetItem", &Operation::add_item},
                                 {"Cast", &Operation::add_cast},
                                 {"GetMask", &Operation::add_mask},
                                 {"Norm", &Operation::add_norm},
                                 {"Normalize", &Operation::add_normalize},
                                 {"Moments", &Operation::add_moments},
                                 {"Roll", &Operation::add_roll},
                                 {"Split", &Operation::add_split},
                                 {"Unstack", &Operation::add_unstack}};
  for (const Row &row : rows)
    if (name == row.name) return &row;
  static constexpr Row activation{"", &Operation::add_activation};
  return keras_operation(name) || !is_activation(name) ? nullptr : &activation;
}

std::vector<Node> Operation::add() {
  for (const auto &[key, v] : config_.items())
    if (is_tensor_at(v)) refuse("has a tensor as the argument \"", key, '"');
  if (class_ == "SegmentSum" || class_ == "SegmentMax") config_.erase("sorted");  // a hint about the ids
  if (const Row *row = row_of(class_)) return (this->*row->add)();
  const KerasOperation &known = *keras_operation(class_);
  const std::string &kind = known.kind->name;
  switch (known.form) {
    case KerasOperation::Form::pair:
      return add_pairwise(kind);
    case KerasOperation::Form::elementwise:
      return add_elementwise(kind);
    case KerasOperation::Form::reduction:
      return add_reduction(kind);
    case KerasOperation::Form::two:
      return finish(kind, config_, {at(0), at(1)});
    case KerasOperation::Form::one:
      return finish(kind, config_, {only()});
  }
  refuse("is not supported");
}

std::vector<Node> Operation::add_listed() { return finish(class_, config_, listed()); }

// ---- arguments ----------------------------------------------------------------------------------------------------

Node Operation::value(const Json &j) {
  if (is_tensor_at(j)) return in_[static_cast<size_t>(j["tensor"].get<int64_t>())];
  if (auto t = numbers_of(j)) return constant(std::move(*t));
  refuse("has an argument that is neither a tensor nor numbers: ", j.shown());
}
Node Operation::at(size_t i) {
  if (i >= args_.size()) refuse("has no argument ", i);
  return value(args_[i]);
}
Node Operation::only() {
  if (args_.size() != 1) refuse("has ", args_.size(), " arguments, expected one tensor");
  return at(0);
}
std::vector<Node> Operation::listed() {
  Nodes list;
  if (args_.size() != 1 || !args_[0].is_array()) refuse("has no list of tensors as its argument");
  for (const Json &j : args_[0]) list.push_back(value(j));
  DType t = dtype(list.at(0));
  for (Node v : list) t = kinds::joined_type(t, dtype(v));
  for (Node &v : list) v = cast(v, t);
  return list;
}

int64_t Operation::axis(const Json &j, Node x) const {
  if (!j.is_int64()) refuse("has no axis that is a number: ", j.shown());
  return shape(x).axis(j.get<int64_t>());
}
std::vector<int64_t> Operation::axes(const Json &j, Node x) const {
  if (j.is_null()) return in_order(x);
  std::vector<int64_t> list;
  for (const Json &a : j.is_array() ? j : Json::array({j})) list.push_back(axis(a, x));
  return list;
}
std::vector<int64_t> Operation::integers(const Json &j, const char *what) const {
  std::vector<int64_t> list;
  for (const Json &n : j.is_array() ? j : Json::array({j})) {
    if (!n.is_int64()) refuse("has ", what, " that is not an integer: ", n.shown());
    list.push_back(n.get<int64_t>());
  }
  return list;
}
void Operation::need_no_more_than(std::initializer_list<std::string_view> known) const {
  for (const auto &[key, v] : config_.items())
    if (!v.is_null() && v != false && std::find(known.begin(), known.end(), key) == known.end())
      refuse("has \"", key, "\": ", v.shown());
}

// ---- emitted layers -----------------------------------------------------------------------------------------------

std::string Operation::fresh(const std::string &what) {
  std::string name = text(name_, "__", what, made_ == 0 ? "" : text('_', made_));
  ++made_;
  return name;
}
Node Operation::constant(Tensor t) { return g_.constant(fresh("constant"), std::move(t)); }
Node Operation::layer(const std::string &kind, Json config, const Nodes &in) {
  return g_.add(kind, fresh(kinds::snake_case(kind)), std::move(config), {}, in)[0];
}
Node Operation::cast(Node v, DType to) {
  if (dtype(v) == to) return v;
  if (dtype(v) == DType::string || to == DType::string) refuse("takes numbers here, not strings");
  return layer("Cast", {{"to", to_string(to)}}, {v});
}
std::vector<int64_t> Operation::in_order(Node v) const {
  std::vector<int64_t> list(static_cast<size_t>(rank(v)));
  std::iota(list.begin(), list.end(), 0);
  return list;
}
Node Operation::unmasked(Node v) { return g_.masked(v) ? transposed(v, in_order(v)) : v; }
bool Operation::keeps_masks(const std::string &kind) {
  return kind == "Softmax" || kind == "Activation" || kind == "Concatenate" || kind == "StopGradient";
}
std::vector<Node> Operation::finish(const std::string &kind, Json config, Nodes in) {
  if (keeps_masks(kind))
    for (Node &v : in) v = unmasked(v);
  return g_.add(kind, name_, std::move(config), {}, in);
}
std::vector<Node> Operation::finish(Steps steps, Node x) {
  if (steps.empty()) return finish_as(x);
  for (size_t i = 0; i + 1 < steps.size(); ++i) x = layer(steps[i].first, std::move(steps[i].second), {x});
  return finish(steps.back().first, std::move(steps.back().second), {x});
}
std::vector<Node> Operation::finish_as(Node v) { return finish("Transpose", {{"perm", in_order(v)}}, {v}); }

std::vector<Node> add_operation(Graph &g, const Architecture::Layer &layer, int64_t call, const Json &arguments,
                                const std::vector<Node> &in) {
  return Operation(g, layer, call, arguments, in).add();
}

void need_operation(const Architecture::Layer &layer) {
  if (!Operation::row_of(layer.class_name) && !keras_operation(layer.class_name))
    throw of_layer(Code::unsupported, layer.name, text("the operation ", layer.class_name, " is not supported"));
}

bool is_operation(const Json &layer) {
  const Json *module = layer.find("module"), *config = layer.find("config");
  if (module && module->is_string()) return module->get<std::string_view>().starts_with("keras.src.ops.");
  // In .h5 files without modules: recognised by an attribute that the config of every layer except SpatialDropout has.
  const Json *name = layer.find("class_name");
  if (name && name->is_string() && name->get<std::string_view>().starts_with("SpatialDropout")) return false;
  return !module && config && !config->contains("trainable") && !config->contains("batch_shape") &&
         !config->contains("layers");
}

}  // namespace dl4::io::keras
