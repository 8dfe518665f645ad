// Keras's operations out of its files, each as a layer or a few.
#include "graph/keras_ops.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "kinds/inner_layer.hpp"

namespace dl4::graph {
namespace {

using Layer = Architecture::Layer;
using Ref = Architecture::Ref;

using Form = KerasOperation::Form;

// A tensor among the arguments.
struct Value {
  Ref ref;
  Shape shape;
  DType dtype;
};

Value value_of(const Json &j) {
  const Json &config = j["config"];
  return {tensor(j), shape_of(config.at("shape")), dtype_from(config.at("dtype").get<std::string>())};
}

bool is_named(const Json &j, std::string_view class_name) {
  const Json *name = j.find("class_name");
  return name && *name == class_name;
}

class Operation {
 public:
  Operation(const Json &j, Maskless &maskless, std::vector<Layer> &to)
      : name_(j.at("config").at("name").get<std::string>()),
        class_(j.at("class_name").get<std::string>()),
        config_(j.at("config")),
        maskless_(maskless),
        to_(to) {
    const Json &nodes = j.at("inbound_nodes");
    if (nodes.size() != 1) refuse("is called ", nodes.size(), " times");
    args_ = nodes[0].at("args");
    config_.erase("name");
    for (const auto &[key, value] : nodes[0].at("kwargs").items())
      if (!value.is_null()) kwargs_.append(key, value);
  }

  const std::string &name() const { return name_; }
  bool is_maskless() const { return is_maskless_; }

  void add() {
    if (class_ == "Take" || class_ == "GetItem" || class_ == "Where") {
      if (!kwargs_.empty()) refuse("has the argument \"", (*kwargs_.items().begin()).first, '"');
    } else {
      for (const auto &[key, value] : kwargs_.items()) {
        if (is_tensor(value)) refuse("has a tensor as the argument \"", key, '"');
        config_[key] = value;
      }
    }
    for (const char *unused : {"initial", "dtype"})
      if (const Json *v = config_.find(unused); v && v->is_null()) config_.erase(unused);
    if (class_ == "SegmentSum" || class_ == "SegmentMax") config_.erase("sorted");  // a promise about the ids
    if (class_ == "Round") return add_rounded();
    if (const KerasOperation *known = keras_operation(class_)) {
      const std::string kind(known->kind);
      if (known->form == Form::pair) return add_pairwise(kind);
      return known->form == Form::one ? finish(kind, config_, {only()}) : finish(kind, config_, {at(0), at(1)});
    }
    if (class_ == "Slice") return add_slice();
    if (class_ == "Softmax") return finish("Softmax", config_, {only()});
    if (class_ == "Concatenate" || class_ == "Stack") return finish(class_, config_, listed());
    if (class_ == "Transpose") return add_transpose();
    if (class_ == "ConvertToTensor") return add_same();
    if (class_ == "ZerosLike" || class_ == "OnesLike") return add_filled();
    if (class_ == "Swapaxes") return add_swapped();
    if (class_ == "Moveaxis") return add_moved();
    if (class_ == "Reshape") return add_reshape();
    if (class_ == "Where") return add_where();
    if (class_ == "Take") return add_take();
    if (class_ == "GetItem") return add_item();
    if (is_any(activations)) return add_activation();
    refuse("is not supported");
  }

 private:
  // Of keras.ops.nn, whose names in snake case are those of activations.
  static constexpr std::string_view activations[] = {
      "Relu",          "Relu6",     "LeakyRelu",  "Elu",        "Selu",       "Celu",       "Gelu",
      "Glu",           "Silu",      "Softplus",   "Softsign",   "Sigmoid",    "LogSigmoid", "HardSigmoid",
      "HardSilu",      "HardTanh",  "HardShrink", "SoftShrink", "TanhShrink", "Squareplus", "SparsePlus",
      "SparseSigmoid", "Sparsemax", "Threshold",  "LogSoftmax"};

  template <class... A>
  [[noreturn]] void refuse(const A &...a) const {
    throw Error(Code::unsupported, text("layer \"", name_, "\": the operation ", class_, ' ', a...))
        .with("layer", name_);
  }
  template <size_t n>
  bool is_any(const std::string_view (&names)[n]) const {
    return std::find(std::begin(names), std::end(names), class_) != std::end(names);
  }

  // The tensor at a place of the arguments; an array of numbers becomes a constant of the rank of the others.
  Value at(size_t i, int rank = 0) {
    if (i < args_.size() && is_tensor(args_[i])) return value_of(args_[i]);
    if (i < args_.size() && is_named(args_[i], "__numpy__")) return constant(args_[i]["config"], rank);
    refuse("has no tensor as its argument ", i);
  }
  Value only() {
    if (args_.size() != 1) refuse("has ", args_.size(), " arguments, expected one tensor");
    return at(0);
  }
  std::vector<Value> listed() const {
    std::vector<Value> list;
    if (args_.size() != 1 || !args_[0].is_array()) refuse("has no list of tensors as its argument");
    for (const Json &j : args_[0]) {
      if (!is_tensor(j)) refuse("has something else than tensors in its list");
      list.push_back(value_of(j));
    }
    return list;
  }
  bool is_number(size_t i) const { return i < args_.size() && (args_[i].is_number() || args_[i].is_boolean()); }
  Json number(size_t i) const { return args_[i].is_boolean() ? Json(args_[i].get<bool>() ? 1 : 0) : args_[i]; }

  Value constant(const Json &config, int rank) {
    std::vector<int64_t> dims;
    std::vector<double> numbers;
    const Json *level = &config.at("value");
    for (; level->is_array(); level = &(*level)[0]) {
      dims.push_back(static_cast<int64_t>(level->size()));
      if (dims.size() > max_rank || level->empty()) refuse("has an array of rank ", dims.size(), " as its argument");
    }
    flatten(config.at("value"), dims, 0, numbers);
    while (static_cast<int>(dims.size()) < rank) dims.insert(dims.begin(), 1);
    Layer &l = fresh("constant");
    l.role = Architecture::Role::constant;
    l.constant = make_tensor(dtype_from(config.at("dtype").get<std::string>()), Shape(dims));
    for (size_t i = 0; i < numbers.size(); ++i)
      if (l.constant.dtype == DType::f32)
        l.constant.as<float>()[i] = static_cast<float>(numbers[i]);
      else if (l.constant.dtype == DType::i32)
        l.constant.as<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
      else
        refuse("has an array of ", l.constant.dtype, " as its argument");
    return {{{l.name, 0}, 0}, l.constant.shape, l.constant.dtype};
  }
  void flatten(const Json &j, const std::vector<int64_t> &dims, size_t depth, std::vector<double> &to) const {
    if (depth == dims.size() ? !j.is_number() : !j.is_array() || static_cast<int64_t>(j.size()) != dims[depth])
      refuse("has an array that is none");
    if (depth == dims.size()) to.push_back(j.get<double>());
    for (const Json &item : j) flatten(item, dims, depth + 1, to);
  }

  Layer &fresh(const char *what) {
    Layer &l = to_.emplace_back();
    l.name = text(name_, "__", what, made_ == 0 ? "" : text('_', made_));
    ++made_;
    return l;
  }
  // A layer, whose only output comes back.
  Value layer(const std::string &kind, Json config, const std::vector<Value> &in, const std::string &name = "") {
    std::vector<Ref> refs;
    for (const Value &v : in) refs.push_back(v.ref);
    Layer &l = fresh(name.empty() ? kind.c_str() : "");
    if (!name.empty()) l.name = name;
    l.class_name = kind;
    l.config = std::move(config);
    l.calls.push_back({std::move(refs), Json::object(), {}});
    return {{{l.name, 0}, 0}, in.empty() ? Shape() : in[0].shape, in.empty() ? DType::f32 : in[0].dtype};
  }
  // A value without its mask: as it is, in the same order.
  Value unmasked(const Value &v) { return maskless_.has(v.ref.of.layer) ? v : same(v); }
  Value same(const Value &v, const std::string &name = "") {
    return layer("Transpose", {{"perm", in_order(v)}}, {v}, name);
  }
  static std::vector<int64_t> in_order(const Value &v) {
    std::vector<int64_t> axes(static_cast<size_t>(v.shape.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  // The last one.
  void finish(const std::string &kind, Json config, std::vector<Value> in) {
    for (Value &v : in) v = unmasked(v);
    layer(kind, std::move(config), in, name_);
  }

  void add_pairwise(const std::string &kind) {
    if (args_.size() != 2) refuse("has ", args_.size(), " arguments, expected two");
    if (is_number(0)) return finish(kind, {{"x1", number(0)}}, {fitting(1, 0)});
    if (is_number(1)) return finish(kind, {{"x2", number(1)}}, {fitting(0, 1)});
    const Value a = at(0), b = at(1);
    if (a.dtype != b.dtype) refuse("joins ", a.dtype, " and ", b.dtype);
    finish(kind, Json::object(), {a, b});
  }
  // Tensor i, beside a number that its type can hold.
  Value fitting(size_t i, size_t other) {
    const Value v = at(i);
    if (v.dtype != DType::f32 && !args_[other].is_integer()) refuse("joins ", v.dtype, " and a float");
    return v;
  }

  void add_where() {
    if (args_.size() != 3) refuse("has ", args_.size(), " arguments, expected three");
    std::vector<Value> in{at(0)};
    Json config = Json::object();
    for (size_t i : {size_t{1}, size_t{2}})
      if (is_number(i))
        config[i == 1 ? "x1" : "x2"] = number(i);
      else
        in.push_back(at(i));
    finish("Where", std::move(config), std::move(in));
  }

  // A tensor as a tensor, which Keras's masks of attention are: the same one, with its mask.
  void add_same() {
    for (const auto &[key, value] : config_.items())
      if (!value.is_null() && value != false) refuse("has \"", key, "\": ", value.shown());
    const Value x = only();
    layer("Identity", Json::object(), {x}, name_);
    is_maskless_ = maskless_.has(x.ref.of.layer);
  }

  // All 0 or 1 in the shape of a value; as booleans what Keras makes of the masks of a Concatenate.
  void add_filled() {
    const Value x = unmasked(only());
    const DType to = dtype_from(config_.value("dtype", to_string(x.dtype)).get<std::string>());
    const bool ones = class_ == "OnesLike";
    if (to == DType::f32)
      layer("Where", {{"x1", ones ? 0 : 1}, {"x2", ones ? 1 : 0}}, {layer("Less", Json::object(), {x, x})}, name_);
    else if (to != DType::boolean)
      refuse("makes ", to);
    else if (ones)
      layer("LogicalNot", Json::object(), {layer("Less", Json::object(), {x, x})}, name_);
    else
      layer("Less", Json::object(), {x, x}, name_);
  }

  // As unmasked() made it, it is what it does.
  void add_transpose() {
    const Value x = only();
    Json axes = config_.value("axes", nullptr);
    if (axes == Json(in_order(x)))
      same(x, name_);
    else
      finish(class_, {{"perm", std::move(axes)}}, {x});
  }

  void add_swapped() {
    const Value x = only();
    std::vector<int64_t> perm = in_order(x);
    const auto axis = [&](const char *key) {
      return static_cast<size_t>(x.shape.axis(config_.at(key).get<int64_t>()));
    };
    std::swap(perm[axis("axis1")], perm[axis("axis2")]);
    finish("Transpose", {{"perm", perm}}, {x});
  }

  void add_moved() {
    const Value x = only();
    std::map<int64_t, int64_t> moved;  // by where it goes
    std::vector<int64_t> perm = in_order(x);
    const auto axes = [&](const char *key) {
      const Json &given = config_.at(key);
      std::vector<int64_t> list;
      for (const Json &axis : given.is_array() ? given : Json::array({given}))
        list.push_back(x.shape.axis(axis.get<int64_t>()));
      return list;
    };
    const std::vector<int64_t> from = axes("source"), to = axes("destination");
    if (from.size() != to.size()) refuse("moves ", from.size(), " axes to ", to.size(), " places");
    for (size_t i = 0; i < from.size(); ++i) {
      if (!moved.emplace(to[i], from[i]).second || std::erase(perm, from[i]) == 0) refuse("names an axis twice");
    }
    for (const auto &[place, axis] : moved) perm.insert(perm.begin() + place, axis);
    finish("Transpose", {{"perm", perm}}, {x});
  }

  void add_rounded() {
    const Value x = unmasked(only());
    const auto decimals = config_.value("decimals", Json(0)).get<int64_t>();
    if (decimals == 0) return finish("Round", Json::object(), {x});
    if (x.dtype != DType::f32) refuse("rounds ", x.dtype, " to decimals");
    const Json factor = {{"x2", std::pow(10.0, decimals)}};
    finish("Divide", factor, {layer("Round", Json::object(), {layer("BroadcastMultiply", factor, {x})})});
  }

  // Ours leaves the batch alone.
  void add_reshape() {
    const Value x = only();
    const Json *shape = config_.find("newshape");
    if (!shape) shape = config_.find("new_shape");
    if (!shape || !shape->is_array() || shape->empty()) refuse("has no shape");
    Json target = Json::array();
    int64_t before = 1, after = 1;
    for (int i = 1; i < x.shape.rank(); ++i) before = x.shape[i] == free_dim ? -1 : before * x.shape[i];
    for (size_t i = 1; i < shape->size(); ++i) {
      const Json &dim = (*shape)[i];
      if (!dim.is_int64() || dim.get<int64_t>() < 0 || dim.get<int64_t>() > INT32_MAX || after > INT32_MAX) after = -2;
      if (after >= 0) after *= dim.get<int64_t>();
      target.push_back(dim);
    }
    const Json &batch = (*shape)[0];
    if (!(batch.is_null() || batch == -1) || before != after) refuse("changes the batch axis: to ", shape->shown());
    finish("Reshape", {{"target_shape", std::move(target)}}, {x});
  }

  void add_slice() {
    if (args_.size() != 2 || !args_[1].is_array()) refuse("has no list of numbers to begin at");
    finish("Slice", {{"start_indices", args_[1]}, {"shape", config_.value("shape", nullptr)}}, {at(0)});
  }

  void add_take() {
    const Value x = at(0);
    Json config{{"axis", config_.value("axis", nullptr)}};
    if (args_.size() != 2) refuse("has ", args_.size(), " arguments, expected two");
    if (is_tensor(args_[1])) return finish("Take", std::move(config), {x, at(1)});
    if (args_[1].is_int64() && config["axis"].is_int64()) {  // the axis goes
      const Json axis = config["axis"];
      config["indices"] = Json::array({args_[1]});
      const Value one = layer("Take", std::move(config), {unmasked(x)});
      return finish("Squeeze", {{"axis", Json::array({axis})}}, {one});
    }
    const Json *list = is_named(args_[1], "__numpy__") ? args_[1]["config"].find("value") : &args_[1];
    if (!list->is_array()) refuse("has indices that are no list");
    config["indices"] = *list;
    finish("Take", std::move(config), {x});
  }

  void add_activation() {
    if (class_ == "LogSoftmax") {
      if (!(config_.value("axis", -1) == -1)) refuse("has an axis other than the last");
      config_.erase("axis");
    }
    const std::string function = kinds::snake_case(class_);
    finish("Activation", {{"activation", {{"class_name", function}, {"config", config_}}}}, {only()});
  }

  // Of one axis of x[...]: every step-th of `count` places from `first` on, -1: of all that are left.
  struct Taken {
    int64_t first = 0, count = -1, step = 1;
    bool dropped = false;  // the axis, by a number
  };
  Taken taken(const Json &item, int64_t dim) const;
  void add_item();

  const std::string name_, class_;
  Json config_, args_, kwargs_ = Json::object();
  Maskless &maskless_;
  std::vector<Layer> &to_;
  int made_ = 0;
  bool is_maskless_ = true;  // is what it gives, as operations drop masks?
};

Operation::Taken Operation::taken(const Json &item, int64_t dim) const {
  if (item.is_int64()) {
    const int64_t n = item.get<int64_t>();
    if (dim == free_dim && n < 0) refuse("counts from the end of an axis of unknown size");
    if (dim != free_dim && (n >= dim || n < -dim)) refuse("has the index ", n, " for an axis of ", dim);
    return {n < 0 ? n + dim : n, 1, 1, true};
  }
  if (!is_named(item, "__slice__")) refuse("has an index that is neither a number nor a slice");
  const auto bound = [&](const char *key) -> std::optional<int64_t> {
    const Json given = item["config"].value(key, nullptr);
    if (given.is_null()) return {};
    if (!given.is_int64()) refuse("has a \"", key, "\" that is no number");
    return given.get<int64_t>();
  };
  const auto low = bound("start"), high = bound("stop");
  const int64_t step = bound("step").value_or(1);
  if (!low && !high && step == 1) return {};
  if (dim == free_dim) {
    if (!low || *low < 0 || high || step != 1) refuse("counts from the end of an axis of unknown size");
    return {std::min<int64_t>(*low, INT32_MAX)};
  }
  if (step < 1) refuse("has a step of ", step);
  const auto within = [&](int64_t n) { return std::clamp<int64_t>(n < 0 ? n + dim : n, 0, dim); };
  const int64_t first = low ? within(*low) : 0, last = high ? within(*high) : dim;
  if (last <= first) refuse("takes nothing");
  return {first, last - first, step};
}

// x[...]: slices, then strides, then new and dropped axes.
void Operation::add_item() {
  if (args_.size() != 2) refuse("has ", args_.size(), " arguments, expected two");
  const Value x = at(0);
  const Json items = args_[1].is_array() ? args_[1] : Json::array({args_[1]});
  const auto is_axis = [](const Json &j) { return !j.is_null() && !is_named(j, "__ellipsis__"); };
  const auto given = std::count_if(items.begin(), items.end(), is_axis);
  const int rank = x.shape.rank();
  if (given > rank) refuse("has ", given, " indices for rank ", rank);
  std::vector<int64_t> begin, size, steps, added, dropped;
  int64_t place = 0;  // among the axes of the output before any is dropped
  const auto take = [&](const Taken &t) {
    begin.push_back(t.first), size.push_back(t.count), steps.push_back(t.step);
    if (t.dropped) dropped.push_back(place);
    ++place;
  };
  for (const Json &item : items) {
    if (is_named(item, "__ellipsis__"))
      for (auto i = rank - given; i > 0; --i) take({});
    else if (item.is_null())
      added.push_back(place++);
    else
      take(taken(item, x.shape[static_cast<int>(begin.size())]));
  }
  while (begin.size() < static_cast<size_t>(rank)) take({});
  Value y = layer("Slice", {{"start_indices", begin}, {"shape", size}}, {unmasked(x)});
  for (size_t axis = 0; axis < steps.size(); ++axis) {
    if (steps[axis] == 1) continue;
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < size[axis]; i += steps[axis]) indices.push_back(i);
    y = layer("Take", {{"indices", indices}, {"axis", axis}}, {y});
  }
  if (!added.empty()) y = layer("ExpandDims", {{"axis", added}}, {y});
  if (!dropped.empty()) layer("Squeeze", {{"axis", dropped}}, {y});
  to_.back().name = name_;  // the last one made is what it gives
}

}  // namespace

bool is_operation(const Json &layer) {
  const Json *module = layer.find("module"), *config = layer.find("config");
  if (module && module->is_string()) return module->get<std::string_view>().starts_with("keras.src.ops.");
  // Without a module, in .h5 files, by what the config of every layer but SpatialDropout's has.
  const Json *name = layer.find("class_name");
  if (name && name->is_string() && name->get<std::string_view>().starts_with("SpatialDropout")) return false;
  return !module && config && !config->contains("trainable") && !config->contains("batch_shape") &&
         !config->contains("layers");
}

void add_operation(const Json &layer, Maskless &maskless, std::vector<Layer> &to) {
  Operation operation(layer, maskless, to);
  as_layer(operation.name(), [&] { operation.add(); });
  if (operation.is_maskless()) maskless.layers.insert(to.back().name);
}

}  // namespace dl4::graph
