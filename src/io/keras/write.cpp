// Keras 3's JSON of a model.
#include <cmath>
#include <numeric>
#include <set>

#include "io/keras/json.hpp"
#include "io/keras/operations.hpp"
#include "io/tensors.hpp"
#include "kinds/signatures.hpp"

namespace dl4::io::keras {
namespace {

using graph::CallId;
using Call = Architecture::Call;
using CallRef = Architecture::CallRef;
using Layer = Architecture::Layer;
using Ref = Architecture::Ref;
using Role = Architecture::Role;

[[noreturn]] void refuse(const std::string &layer, const std::string &why) {
  throw of_layer(Code::unsupported, layer, why);
}

// The module of a Keras layer; empty: not Keras's.
std::string module_of(const std::string &class_name) {
  if (kinds::signature("layer", class_name)) return std::string(kinds::keras_module("layer"));
  for (const kinds::Entry *e : kinds::entries("layer"))
    if (e->name == class_name && e->keras_path.view().starts_with("keras."))
      return std::string(e->keras_path.view().substr(0, e->keras_path.view().rfind('.')));
  return "";
}

// A number, or a text that NumPy parses as one where JSON has none.
Json number_at(const Tensor &t, int64_t i) {
  if (t.dtype == DType::i32) return t.as<int32_t>()[i];
  if (t.dtype == DType::i64) return t.as<int64_t>()[i];
  if (t.dtype == DType::u8) return t.as<uint8_t>()[i];
  if (t.dtype == DType::boolean) return t.as<uint8_t>()[i] != 0;
  if (t.dtype == DType::f64) fail(Code::unsupported, "a constant of float64 cannot be stored in Keras's files");
  const double v = t.as<float>()[i];
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity";
}

// A constant's numbers as nested lists.
Json numbers(const Tensor &t, int axis, int64_t &at) {
  if (axis == t.shape.rank()) return number_at(t, at++);
  Json list = Json::array();
  for (int64_t i = 0; i < t.shape[axis]; ++i) list.push_back(numbers(t, axis + 1, at));
  return list;
}

class Writer {
 public:
  explicit Writer(const graph::Model &m) : a_(m.architecture()) {
    for (const Layer &l : a_.layers) layers_.emplace(l.name, &l);
    // Call indices as in architecture().
    std::map<std::string, int64_t> calls;
    for (CallId c : needed_calls(m.graph(), m.inputs(), m.outputs())) {
      const std::string &name = m.graph().layer_of(c).name;
      auto &facts = facts_[{name, calls[name]++}];
      for (Node n : m.graph().calls()[c].out) facts.emplace_back(m.graph().shape(n), m.graph().dtype(n));
    }
  }

  Json config(const std::string &name) const {
    Json layers = Json::array();
    for (const Layer *l : ordered()) {
      need_variable(*l);
      add_before(*l, layers);
      layers.push_back(layer(*l));
    }
    std::vector<Ref> outputs = a_.outputs;
    for (Ref &ref : outputs) {
      if (is_constant(ref)) refuse(ref.of.layer, "an output of a model in Keras's files is no constant");
      ref.of.call += first_node(a_, ref);
    }
    return {{"name", name},
            {"trainable", true},
            {"layers", std::move(layers)},
            {"input_layers", histories(a_.inputs)},
            {"output_layers", histories(outputs)}};
  }

 private:
  // The layers in Keras's order for models and their weights: by depth; within a depth by order of discovery from the
  // outputs.
  std::vector<const Layer *> ordered() const {
    std::map<CallRef, std::vector<CallRef>> parents;
    for (const Layer &l : a_.layers)
      for (size_t c = 0; c < l.calls.size(); ++c) {
        auto &list = parents[{l.name, static_cast<int64_t>(c)}];
        const auto add = [&](const Ref &ref) {
          if (layers_.at(ref.of.layer)->role != Role::constant) list.push_back(ref.of);
        };
        for (const Ref &ref : l.calls[c].inputs) add(ref);
        for (const auto &[key, refs] : l.calls[c].values)
          for (const auto &ref : refs)
            if (ref) add(*ref);
      }
    std::map<std::string, size_t> met;
    const std::vector<CallRef> done = searched(parents, met);
    std::map<CallRef, int64_t> depths;
    std::map<std::string, int64_t> of_layer;
    for (auto node = done.rbegin(); node != done.rend(); ++node) {
      int64_t &depth = of_layer[node->layer];
      depth = std::max(depth, depths[*node]);
      for (const CallRef &parent : parents[*node]) depths[parent] = std::max(depths[parent], depth + 1);
    }
    std::vector<const Layer *> list;
    for (const Layer &l : a_.layers)
      if (l.role != Role::constant) list.push_back(&l);
    // An unread input is never discovered: it precedes the others.
    std::stable_sort(list.begin(), list.end(), [&](const Layer *a, const Layer *b) {
      const auto key = [&](const Layer *l) {
        const auto it = met.find(l->name);
        return std::pair(-of_layer[l->name], it == met.end() ? size_t{0} : it->second + 1);
      };
      return key(a) < key(b);
    });
    return list;
  }
  // Calls in topological order; `met`: order in which a search from the outputs discovers layers.
  std::vector<CallRef> searched(const std::map<CallRef, std::vector<CallRef>> &parents,
                                std::map<std::string, size_t> &met) const {
    static const std::vector<CallRef> none;
    std::vector<CallRef> done;
    std::set<CallRef> seen;
    std::vector<std::pair<CallRef, size_t>> stack;
    const auto visit = [&](const CallRef &node) {
      if (!seen.insert(node).second) return;
      met.emplace(node.layer, met.size());
      stack.emplace_back(node, 0);
    };
    for (const Ref &output : a_.outputs) {
      visit(output.of);
      while (!stack.empty()) {
        auto &[node, next] = stack.back();
        const auto it = parents.find(node);
        const std::vector<CallRef> &list = it == parents.end() ? none : it->second;
        if (next < list.size()) {
          visit(list[next++]);
        } else {
          done.push_back(node);
          stack.pop_back();
        }
      }
    }
    return done;
  }

  bool is_constant(const Ref &ref) const { return layers_.at(ref.of.layer)->role == Role::constant; }
  // Keras makes calls only of values that depend on inputs, and computes others immediately.
  void need_variable(const Layer &l) const {
    for (const Call &call : l.calls)
      if (call.values.empty() &&
          std::all_of(call.inputs.begin(), call.inputs.end(), [&](const Ref &ref) { return is_constant(ref); }))
        refuse(l.name, "reads constants alone, which no call in Keras's files does");
  }
  // An operation applied to an input before the call; to a constant immediately.
  struct Before {
    const char *class_name = nullptr, *module = "";
    Json config = Json::object();
    Shape shape;
    DType dtype;
    std::string name;  // of the operation
  };
  static constexpr const char *transposed[] = {"transpose_a", "transpose_b"};
  Before before(const Layer &l, size_t call, size_t i) const {
    const Ref &ref = l.calls[call].inputs[i];
    const auto [shape, dtype] = facts(ref);
    Before b{.shape = shape, .dtype = dtype, .name = text(l.name, "__input_", i, call ? text("_of_", call) : "")};
    if (l.class_name == "MatMul" && i < 2 && l.config.value(transposed[i], false) == true) {
      b.class_name = "Transpose", b.module = "keras.src.ops.numpy";
      const int n = shape.rank();
      b.shape = shape.with(n - 2, shape[n - 1]).with(n - 1, shape[n - 2]);
      b.config["axes"] = last_two_swapped(n);
    } else if (dtype != DType::f32 && dtype != DType::string && computes_floats(l, call, i)) {
      b.class_name = "Cast", b.module = "keras.src.ops.core";
      b.dtype = DType::f32;
      b.config["dtype"] = "float32";
    }
    b.config["name"] = b.name;
    return b;
  }
  static std::vector<int> last_two_swapped(int rank) {
    std::vector<int> perm(static_cast<size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return perm;
  }
  // Whether the layer computes floats of integers where Keras computes integers.
  bool computes_floats(const Layer &l, size_t call, size_t i) const {
    if (facts_.at({l.name, static_cast<int64_t>(call)})[0].second != DType::f32 || l.class_name == "Functional")
      return false;
    if (is_any(l.class_name, {"Power", "Einsum", "Heaviside", "Hypot"})) return true;
    if (module_of(l.class_name).empty()) return false;
    const std::vector<kinds::Port> ports = kinds::facts_of(l.class_name).inputs;
    return ports[std::min(i, ports.size() - 1)].shape.view().find("integers") == std::string_view::npos;
  }
  void add_before(const Layer &l, Json &layers) const {
    for (size_t c = 0; c < l.calls.size(); ++c)
      for (size_t i = 0; i < l.calls[c].inputs.size(); ++i) {
        const Ref &ref = l.calls[c].inputs[i];
        if (const Before b = before(l, c, i); b.class_name && !is_constant(ref))
          layers.push_back(operation_json(b.module, b.class_name, b.config, Json::array({value(l.name, ref, false)}),
                                          Json::object()));
      }
  }
  // Input i of a call, after such an operation if there is one.
  Json input(const Layer &l, size_t call, size_t i, bool constants) const {
    const Ref &ref = l.calls[call].inputs[i];
    const Before b = before(l, call, i);
    if (!b.class_name) return value(l.name, ref, constants);
    if (is_constant(ref)) {
      const Tensor &t = layers_.at(ref.of.layer)->constant;
      return constant(b.dtype != t.dtype ? to_float32(t) : io::transposed(t, last_two_swapped(t.shape.rank())));
    }
    return tensor(b.shape, b.dtype, Json::array({b.name, 0, 0}));
  }

  static Json history(const Ref &ref) { return Json::array({ref.of.layer, ref.of.call, ref.output}); }
  // A single reference is no list: the model then takes and returns a tensor.
  static Json histories(const std::vector<Ref> &refs) {
    if (refs.size() == 1) return history(refs[0]);
    Json list = Json::array();
    for (const Ref &ref : refs) list.push_back(history(ref));
    return list;
  }
  std::pair<Shape, DType> facts(const Ref &ref) const {
    const Layer &of = *layers_.at(ref.of.layer);
    if (of.role == Role::constant) return {of.constant.shape, of.constant.dtype};
    return facts_.at(ref.of)[static_cast<size_t>(ref.output)];
  }
  static Json scalar(const Json &number, DType dtype) {
    return {{"class_name", "__numpy__"}, {"config", {{"value", number}, {"dtype", to_string(dtype)}}}};
  }
  static Json constant(const Tensor &t) {
    int64_t at = 0;
    return scalar(numbers(t, 0, at), t.dtype);
  }
  Json value(const std::string &reader, const Ref &ref, bool constants) const {
    const Layer &of = *layers_.at(ref.of.layer);
    if (of.role == Role::constant) {
      if (!constants) refuse(reader, "reads a constant, which in Keras's files only operations do");
      return constant(of.constant);
    }
    const auto [shape, dtype] = facts(ref);
    return tensor(shape, dtype, history(ref));
  }
  static Json tensor(const Shape &shape, DType dtype, Json history) {
    return {
        {"class_name", "__keras_tensor__"},
        {"config",
         {{"shape", graph::shape_json(shape)}, {"dtype", to_string(dtype)}, {"keras_history", std::move(history)}}}};
  }

  Json layer(const Layer &l) const {
    Json j;
    if (l.role == Role::input) {
      j = object(kinds::keras_module("layer"), "InputLayer",
                 {{"batch_shape", graph::shape_json(l.shape)},
                  {"dtype", to_string(l.dtype)},
                  {"sparse", false},
                  {"name", l.name}});
    } else {
      if (!l.frozen.empty() || !l.thawed.empty())
        refuse(l.name, "some of its weights are frozen and others not; Keras freezes whole layers");
      if (module_of(l.class_name).empty() && l.class_name != "Functional") return operation(l);
      j = kind(l.name, l.class_name, l.config);
      j["config"]["name"] = l.name;
    }
    j["name"] = l.name;
    Json nodes = Json::array();
    for (size_t c = 0; c < l.calls.size(); ++c) nodes.push_back(node(l, c));
    j["inbound_nodes"] = std::move(nodes);
    return j;
  }

  Json node(const Layer &l, size_t number) const {
    const Call &call = l.calls[number];
    if ((l.class_name.ends_with("Cell") || l.class_name == "StackedRNNCells") && !call.values.count("states"))
      refuse(l.name, l.class_name + ": Keras's takes its states in each call");
    const bool list = call.inputs.size() > 1 && !is_any(l.class_name, {"MultiHeadAttention", "GroupQueryAttention"});
    const auto last = [&](size_t i) { return facts(call.inputs.at(i)).first.last(); };
    if (l.class_name == "RandomColorDegeneration" && last(0) != 3)
      refuse(l.name, text(l.class_name, ": Keras's takes images of 3 channels, got ", last(0)));
    if (l.class_name == "GroupQueryAttention" && last(0) != last(1))
      refuse(l.name,
             text(l.class_name, ": Keras's takes query and value of one size, got ", last(0), " and ", last(1)));
    Json inputs = Json::array(), kwargs = call.arguments;
    for (size_t i = 0; i < call.inputs.size(); ++i) inputs.push_back(input(l, number, i, false));
    const bool merge =
        is_any(l.class_name, {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"});
    for (const auto &[key, refs] : call.values) {
      Json values = Json::array();
      for (const auto &ref : refs) values.push_back(ref ? value(l.name, *ref, false) : Json(nullptr));
      const bool one = refs.size() == 1 && key != "initial_state";
      kwargs[key] = one ? Json(values[0]) : std::move(values);
    }
    return {{"args", list || merge ? Json::array({std::move(inputs)}) : std::move(inputs)},
            {"kwargs", std::move(kwargs)}};
  }

  // A layer's class and config, including inner layers.
  static Json kind(const std::string &who, const std::string &class_name, const Json &given) {
    if (class_name == "Functional") {
      const Json *name = given.find("name"), *trainable = given.find("trainable");
      Json config = Writer(*graph::model_of(graph::read_architecture(given.at("model"))))
                        .config(name ? name->get<std::string>() : who);
      if (trainable) config["trainable"] = *trainable;
      return object("keras.src.models.functional", class_name, std::move(config));
    }
    const std::string module = module_of(class_name);
    if (module.empty()) refuse(who, class_name + " has no counterpart in Keras");
    Json config = Json::object();
    for (const auto &[key, v] : given.items()) config[std::string(key)] = attribute(who, key, v);
    if (class_name.starts_with("SpatialDropout") ||
        is_any(class_name, {"Discretization", "HashedCrossing", "Pipeline"}))
      config.erase("trainable");  // they take none
    to_policy(who, class_name, config);
    config.erase("lora");  // Keras's attention does not list its projections
    if (config.value("lora_rank", nullptr).is_null())
      for (const char *key : {"lora_rank", "lora_alpha"}) config.erase(key);
    Json layer = object(module, class_name, std::move(config));
    if (module != kinds::keras_module("layer")) layer["registered_name"] = class_name;
    return layer;
  }
  static Json attribute(const std::string &who, std::string_view key, const Json &v) {
    if (key == "cells" || key == "layers") {
      Json list = Json::array();
      for (const Json &one : v) list.push_back(attribute(who, "layer", one));
      return list;
    }
    if (v == "hard_sigmoid_v1") refuse(who, text('"', key, "\": hard_sigmoid_v1 is not in Keras 3"));
    const Json *class_name = v.find("class_name"), *config = v.find("config");
    if (!class_name || !config) return v;
    const std::string name = class_name->get<std::string>();
    for (const char *category : {"initializer", "regularizer", "constraint"})
      if (key.ends_with(category)) return object(kinds::keras_module(category), name, *config);
    if (is_any(key, {"layer", "backward_layer", "cell"})) return kind(who, name, *config);
    refuse(who, text('"', key, "\": ", name, " with custom settings cannot be stored in Keras's files"));
  }

  // ---- operations ---------------------------------------------------------------------------------------------------

  Json operation(const Layer &l) const {
    if (l.calls.size() != 1) refuse(l.name, "as an operation in Keras's files it is called once");
    Json args = Json::array(), kwargs = Json::object(), config = l.config;
    config.erase("trainable");
    if (config.value("dtype", nullptr) == kinds::mixed_bfloat16)
      config.erase("dtype");  // Keras's follow their operands
    for (size_t i = 0; i < l.calls[0].inputs.size(); ++i) args.push_back(input(l, 0, i, true));
    const KerasOperation *known = keras_operation_of(l.class_name);
    std::string name(known ? known->name : l.class_name);
    if (!known && l.class_name != "Slice") refuse(l.name, l.class_name + " has no counterpart in Keras");
    if (const Json *x1 = config.find("x1")) {  // numbers in place of inputs
      const size_t first = name == "Where" ? 1 : 0;
      args = with_numbers(args, first, *x1, config["x2"]);
      if (name.starts_with("Bitwise") || name.ends_with("Shift"))  // whose operands have a dtype
        for (size_t i = 0; i < args.size(); ++i)
          if (args[i].is_number()) args[i] = scalar(args[i], facts(l.calls[0].inputs[0]).second);
      config = Json::object();
    } else if (name == "Matmul") {
      config = Json::object();
    } else if (l.class_name == "ReshapeBatch") {
      config = {{"newshape", Json(config["shape"])}};
    } else if (name == "Cast") {
      config = {{"dtype", Json(config["to"])}};
    } else if (name == "Pad") {
      if (const Json fill = config["constant_values"]; !fill.is_null()) kwargs["constant_values"] = fill;
      config.erase("constant_values");
    } else if (is_any(name, {"Cumsum", "Cumprod", "Sort", "Argsort"})) {
      for (const char *key : {"exclusive", "reverse", "descending"}) {
        if (config.value(key, false) == true) refuse(l.name, text('"', key, "\": true has no operation in Keras"));
        config.erase(key);
      }
    } else if (name == "Stack") {
      args = Json::array({std::move(args)});
    } else if (name == "Transpose") {
      config = {{"axes", Json(config["perm"])}};
    } else if (name == "Slice") {
      name = "GetItem";
      args.push_back(slices(config["start_indices"], config["shape"]));
      config = Json::object();
    } else if (name == "Take") {
      if (const Json indices = config["indices"]; !indices.is_null()) args.push_back(indices);
      config.erase("indices");
    } else if (l.class_name.starts_with("Segment") &&
               (args.size() != 2 || facts(l.calls[0].inputs[1]).first.rank() != 1)) {
      refuse(l.name, l.class_name + ": Keras's takes segments of one axis and their number");
    }
    config["name"] = l.name;
    return operation_json(known ? known->module : "keras.src.ops.numpy", name, std::move(config), std::move(args),
                          std::move(kwargs));
  }
  static Json operation_json(const std::string &module, const std::string &class_name, Json config, Json args,
                             Json kwargs) {
    Json name = config["name"];
    return {{"module", module},
            {"class_name", class_name},
            {"config", std::move(config)},
            {"registered_name", class_name},
            {"name", std::move(name)},
            {"inbound_nodes", Json::array({Json{{"args", std::move(args)}, {"kwargs", std::move(kwargs)}}})}};
  }
  static Json with_numbers(const Json &inputs, size_t first, const Json &x1, const Json &x2) {
    Json all = Json::array();
    size_t next = 0;
    for (; next < first; ++next) all.push_back(inputs[next]);
    for (const Json *number : {&x1, &x2}) all.push_back(number->is_null() ? inputs[next++] : *number);
    // With integers, a float would give floats in Keras.
    const bool floats = inputs.size() <= first || inputs[first]["config"]["dtype"] == "float32";
    for (size_t i = first; i < all.size() && !floats; ++i)
      if (all[i].is_number() && all[i].get<double>() == std::floor(all[i].get<double>()))
        all[i] = static_cast<int64_t>(all[i].get<double>());
    return all;
  }
  static Json slices(const Json &begin, const Json &size) {
    Json list = Json::array();
    for (size_t i = 0; i < begin.size(); ++i) {
      const int64_t from = begin[i].get<int64_t>(), count = size[i].get<int64_t>();
      // To the end, to a position before it, or a count; ranges counted from the end can end there too.
      const bool to_end = count == -1 || (from < 0 && from + count == 0);
      const Json stop = to_end ? Json(nullptr) : Json(count < -1 ? count + 1 : from + count);
      list.push_back(
          {{"class_name", "__slice__"},
           {"config",
            {{"start", to_end && from == 0 ? Json(nullptr) : Json(from)}, {"stop", stop}, {"step", nullptr}}}});
    }
    return list;
  }

  const Architecture a_;
  std::map<std::string, const Layer *> layers_;
  std::map<Architecture::CallRef, std::vector<std::pair<Shape, DType>>> facts_;
};

}  // namespace

Json json_of(const graph::Model &m) {
  Json j = object("keras.src.models.functional", "Functional", Writer(m).config("functional"));
  j["registered_name"] = "Functional";
  j["build_config"] = {{"input_shape", nullptr}};
  return j;
}

}  // namespace dl4::io::keras
