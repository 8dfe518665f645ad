// A model as Keras 3's JSON.
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "graph/model.hpp"
#include "io/keras/json.hpp"
#include "io/keras/operations.hpp"
#include "io/keras/policies.hpp"
#include "kinds/field.hpp"
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
  throw Error(Code::unsupported, text("layer \"", layer, "\": ", why)).with("layer", layer);
}

bool is_any(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

// The module of a layer that is Keras's; empty: it is none.
std::string module_of(const std::string &class_name) {
  if (kinds::signature("layer", class_name)) return std::string(kinds::keras_module("layer"));
  for (const kinds::Entry *e : kinds::entries("layer"))
    if (e->name == class_name && e->keras_path.view().starts_with("keras."))
      return std::string(e->keras_path.view().substr(0, e->keras_path.view().rfind('.')));
  return "";
}

Json object(std::string_view module, const std::string &class_name, Json config) {
  return {{"module", module}, {"class_name", class_name}, {"config", std::move(config)}, {"registered_name", nullptr}};
}

// The numbers of a constant, in lists of lists.
Json numbers(const Tensor &t, int axis, int64_t &at) {
  if (axis == t.shape.rank()) {
    const int64_t i = at++;
    if (t.dtype == DType::f32) return static_cast<double>(t.as<float>()[i]);
    if (t.dtype == DType::i32) return static_cast<int64_t>(t.as<int32_t>()[i]);
    fail(Code::unsupported, "a constant of ", t.dtype, " cannot be stored in Keras's files");
  }
  Json list = Json::array();
  for (int64_t i = 0; i < t.shape[axis]; ++i) list.push_back(numbers(t, axis + 1, at));
  return list;
}

class Writer {
 public:
  explicit Writer(const graph::Model &m) : a_(m.architecture()) {
    for (const Layer &l : a_.layers) layers_.emplace(l.name, &l);
    // As architecture() numbers the calls.
    std::map<std::string, int64_t> calls;
    for (CallId c : needed_calls(m.graph(), m.inputs(), m.outputs())) {
      const std::string &name = m.graph().layer_of(c).name;
      auto &facts = facts_[{name, calls[name]++}];
      for (Node n : m.graph().calls()[c].out) facts.emplace_back(m.graph().shape(n), m.graph().dtype(n));
    }
  }

  Json config(const std::string &name) const {
    Json layers = Json::array();
    for (const Layer *l : ordered()) layers.push_back(layer(*l));
    std::vector<Ref> outputs = a_.outputs;
    for (Ref &ref : outputs) ref.of.call += first_node(a_, ref);
    return {{"name", name},
            {"trainable", true},
            {"layers", std::move(layers)},
            {"input_layers", histories(a_.inputs)},
            {"output_layers", histories(outputs)}};
  }

 private:
  // As Keras orders the layers of a model when it makes it, and their weights: by depth, those of one depth as a search
  // from the outputs meets them first.
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
    // An input that nothing reads is met by no search: it comes before the others.
    std::stable_sort(list.begin(), list.end(), [&](const Layer *a, const Layer *b) {
      const auto key = [&](const Layer *l) {
        const auto it = met.find(l->name);
        return std::pair(-of_layer[l->name], it == met.end() ? size_t{0} : it->second + 1);
      };
      return key(a) < key(b);
    });
    return list;
  }
  // Calls, each behind those it reads; `met`: which layer a search from the outputs comes to first.
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

  static Json history(const Ref &ref) { return Json::array({ref.of.layer, ref.of.call, ref.output}); }
  // One stands for itself: the model then takes and gives a tensor, not a list of one.
  static Json histories(const std::vector<Ref> &refs) {
    if (refs.size() == 1) return history(refs[0]);
    Json list = Json::array();
    for (const Ref &ref : refs) list.push_back(history(ref));
    return list;
  }
  int rank(const Ref &ref) const {
    const Layer &of = *layers_.at(ref.of.layer);
    if (of.role == Role::constant) return of.constant.shape.rank();
    return facts_.at(ref.of)[static_cast<size_t>(ref.output)].first.rank();
  }
  Json value(const std::string &reader, const Ref &ref, bool constants) const {
    const Layer &of = *layers_.at(ref.of.layer);
    if (of.role == Role::constant) {
      if (!constants) refuse(reader, "reads a constant, which in Keras's files only operations do");
      int64_t at = 0;
      return {{"class_name", "__numpy__"},
              {"config", {{"value", numbers(of.constant, 0, at)}, {"dtype", to_string(of.constant.dtype)}}}};
    }
    const auto &[shape, dtype] = facts_.at(ref.of)[static_cast<size_t>(ref.output)];
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", graph::shape_json(shape)}, {"dtype", to_string(dtype)}, {"keras_history", history(ref)}}}};
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
    for (const Call &call : l.calls) nodes.push_back(node(l, call));
    j["inbound_nodes"] = std::move(nodes);
    return j;
  }

  Json node(const Layer &l, const Call &call) const {
    const bool list = call.inputs.size() > 1 && !is_any(l.class_name, {"MultiHeadAttention", "GroupQueryAttention"});
    Json inputs = Json::array(), kwargs = call.arguments;
    for (const Ref &ref : call.inputs) inputs.push_back(value(l.name, ref, false));
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

  // A layer's class and config, with those inside it.
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
    if (class_name.starts_with("SpatialDropout")) config.erase("trainable");  // it takes none
    to_policy(who, class_name, config);
    config.erase("lora");  // Keras's attention says nothing of its projections
    if (config.value("lora_rank", nullptr).is_null())
      for (const char *key : {"lora_rank", "lora_alpha"}) config.erase(key);
    Json layer = object(module, class_name, std::move(config));
    if (module != kinds::keras_module("layer")) layer["registered_name"] = class_name;
    return layer;
  }
  static Json attribute(const std::string &who, std::string_view key, const Json &v) {
    if (key == "cells") {
      Json list = Json::array();
      for (const Json &cell : v) list.push_back(attribute(who, "cell", cell));
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

  // ---- Operations --------------------------------------------------------------------------------------------------

  Json operation(const Layer &l) const {
    if (l.calls.size() != 1) refuse(l.name, "as an operation in Keras's files it is called once");
    Json args = Json::array(), kwargs = Json::object(), config = l.config;
    config.erase("trainable");
    if (config.value("dtype", nullptr) == kinds::mixed_bfloat16)
      config.erase("dtype");  // Keras's follow their operands
    for (const Ref &ref : l.calls[0].inputs) args.push_back(value(l.name, ref, true));
    const KerasOperation *known = keras_operation_of(l.class_name);
    std::string name(known ? known->name : l.class_name);
    if (const Json *x1 = config.find("x1")) {  // numbers in the place of inputs
      const size_t first = name == "Where" ? 1 : 0;
      args = with_numbers(args, first, *x1, config["x2"]);
      config = Json::object();
    } else if (name == "Matmul") {
      if (config["transpose_a"] == true || config["transpose_b"] == true)
        refuse(l.name, "a product of transposed matrices has no operation in Keras; transpose them before");
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
    } else if (!known) {
      refuse(l.name, l.class_name + " has no counterpart in Keras");
    } else if (l.class_name.starts_with("Segment") && (args.size() != 2 || rank(l.calls[0].inputs[1]) != 1)) {
      refuse(l.name, l.class_name + ": Keras's takes segments of one axis and their number");
    }
    config["name"] = l.name;
    return {{"module", known ? known->module : "keras.src.ops.numpy"},
            {"class_name", name},
            {"config", std::move(config)},
            {"registered_name", name},
            {"name", l.name},
            {"inbound_nodes", Json::array({Json{{"args", std::move(args)}, {"kwargs", std::move(kwargs)}}})}};
  }
  static Json with_numbers(const Json &inputs, size_t first, const Json &x1, const Json &x2) {
    Json all = Json::array();
    size_t next = 0;
    for (; next < first; ++next) all.push_back(inputs[next]);
    for (const Json *number : {&x1, &x2}) all.push_back(number->is_null() ? inputs[next++] : *number);
    // Beside integers a float would make floats in Keras.
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
      // To the end, to a place before it, or so many; what is counted from the end ends there too.
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
