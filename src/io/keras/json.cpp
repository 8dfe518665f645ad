// Converts Keras 3's model configs to architectures.
// Layer names in Keras's files, which can't contain slashes.
#include "io/keras/json.hpp"

#include <set>

#include "io/keras/operations.hpp"

namespace dl4::io::keras {
namespace {

using Call = Architecture::Call;
using Layer = Architecture::Layer;
using Ref = Architecture::Ref;

// Other float types of a file are computed in float32.
DType computed(const std::string &dtype) {
  return dtype == "float16" || dtype == "bfloat16" || dtype == "float64" ? DType::f32 : dtype_from(dtype);
}

[[noreturn]] void unlike(const std::string &wanted, const Json &got) {
  fail(Code::corrupt_file, "expected ", wanted, ", got ", got.shown());
}

const Json &member(const Json &j, const char *key) {
  const Json *found = j.is_object() ? j.find(key) : nullptr;
  if (!found) unlike(text("an object with \"", key, '"'), j);
  return *found;
}

std::string string_of(const Json &j, const char *key) {
  const Json &s = member(j, key);
  if (!s.is_string()) unlike(text("a string for \"", key, '"'), s);
  return s.get<std::string>();
}

Ref history(const Json &j) {
  if (!is_history(j)) unlike("[layer, node, tensor]", j);
  const auto node = j[1].get<int64_t>();
  if (node < 0) unlike("a node of at least 0", j);
  return {{j[0].get<std::string>(), node}, j[2].get<int64_t>()};
}

bool is_constant(const Json &j) { return is_named(j, "__tensor__") || is_named(j, "__numpy__"); }

// Visits all values of nested lists and, in key order, objects.
template <class F>
void each(const Json &j, F f) {
  if (j.is_object() && !is_tensor(j) && !is_constant(j)) {
    std::map<std::string_view, const Json *> sorted;
    for (const auto &[key, item] : j.items()) sorted.emplace(key, &item);
    for (const auto &[key, item] : sorted) each(*item, f);
  } else if (j.is_array() && !is_history(j)) {
    for (const Json &item : j) each(item, f);
  } else {
    f(j);
  }
}

std::vector<Ref> histories(const Json &j) {
  std::vector<Ref> refs;
  each(j, [&](const Json &item) { refs.push_back(history(item)); });
  return refs;
}

// The calls of a layer. Array arguments become Constant layers.
class Calls {
 public:
  Calls(std::string name, std::vector<Layer> &to) : name_(std::move(name)), to_(to) {}

  Call of_layer(const Json &node) {
    Call call;
    const auto add = [&](const Json &j) { call.inputs.push_back(value(j)); };
    each(member(node, "args"), add);
    const Json &kwargs = member(node, "kwargs");
    // Names of inputs, in the order of Keras's signatures.
    constexpr std::string_view inputs[] = {"inputs", "sequences", "sequence", "query", "value", "key"};
    for (std::string_view key : inputs)
      if (const Json *given = kwargs.find(key); given && !given->is_null()) each(*given, add);
    for (const auto &[key, given] : kwargs.items()) {
      // In Keras, the model's training argument overrides a layer's.
      if (given.is_null() || key == "training" ||
          std::find(std::begin(inputs), std::end(inputs), key) != std::end(inputs))
        continue;
      if (!is_value(given) && !(given.is_array() && std::any_of(given.begin(), given.end(), is_value))) {
        call.arguments[std::string(key)] = given;
        continue;
      }
      auto &refs = call.values[std::string(key)];
      each(given, [&](const Json &j) { refs.push_back(j.is_null() ? std::nullopt : std::optional(value(j))); });
    }
    return call;
  }

  // An operation's arguments, with {"tensor": n} for input n.
  Call of_operation(const Json &node) {
    Call call;
    call.arguments = {{"args", numbered(member(node, "args"), call)},
                      {"kwargs", numbered(member(node, "kwargs"), call)}};
    return call;
  }

 private:
  static bool is_value(const Json &j) { return is_tensor(j) || is_constant(j); }

  Ref value(const Json &j) {
    if (is_tensor(j)) return tensor(j);
    if (!is_constant(j)) unlike("a tensor as positional argument", j);
    Layer l;
    l.role = Architecture::Role::constant;
    l.name = text(name_, "__constant", made_ == 0 ? "" : text('_', made_));
    ++made_;
    const Json &config = member(j, "config");
    const Json *dtype = config.find("dtype");
    const auto numbers =
        numbers_of(member(config, "value"),
                   dtype && dtype->is_string() ? std::optional(computed(dtype->get<std::string>())) : std::nullopt);
    if (!numbers) unlike("numbers in lists of one size", config);
    l.constant = *numbers;
    to_.push_back(l);
    return {{l.name, 0}, 0};
  }
  Json numbered(const Json &j, Call &call) {
    if (is_value(j)) {
      call.inputs.push_back(value(j));
      return {{"tensor", call.inputs.size() - 1}};
    }
    if (!j.is_array() && !(j.is_object() && !j.contains("class_name"))) return j;
    Json to = j.is_array() ? Json::array() : Json::object();
    if (j.is_array())
      for (const Json &item : j) to.push_back(numbered(item, call));
    else
      for (const auto &[key, item] : j.items()) to[std::string(key)] = numbered(item, call);
    return to;
  }

  const std::string name_;
  std::vector<Layer> &to_;
  int made_ = 0;
};

Layer input(const std::string &name, const Json &shape, const Json *dtype) {
  Layer l;
  l.role = Architecture::Role::input;
  l.name = name;
  l.shape = shape_of(shape);
  if (dtype && dtype->is_string()) l.dtype = computed(dtype->get<std::string>());
  return l;
}

// A user-defined class must be registered here.
void need_registered(const Json &j, const std::string &name, const std::string &class_name) {
  const Json *module = j.find("module"), *registered = j.find("registered_name");
  const std::string from = module && !module->is_null() ? module->get<std::string>() : "keras";
  const bool of_keras = from.starts_with("keras") || from.starts_with("tf_keras");
  const bool custom =
      registered && registered->is_string() && registered->get<std::string>().find('>') != std::string::npos;
  if (class_name == "Lambda")
    throw of_layer(Code::unsupported, name, "a Lambda's code is not run; build it of layers instead");
  if (of_keras && (!custom || class_name == "CustomScaleLayer")) return;  // registered by tf.keras itself
  const auto &own = kinds::entries("layer");
  const auto of_ours = [&](const kinds::Entry *e) { return e->name == class_name; };
  if (std::any_of(own.begin(), own.end(), of_ours))
    throw Error(Code::unsupported, text("layer \"", name, "\" is of the custom class \"", class_name,
                                        "\", not of Keras's; its code is not in the file"))
        .with("layer", name);
}

constexpr const char *inner_keys[] = {"layer", "backward_layer", "cell"};
bool has_inner(const Json &config) {
  return config.contains("cells") || std::any_of(std::begin(inner_keys), std::end(inner_keys),
                                                 [&](const char *key) { return config.contains(key); });
}

// Applies f to the config of each inner layer of a layer.
template <class F>
Json with_inner(const Json &layer, const Json &config, F f) {
  const auto changed = [&](const Json &inner) {
    Json to = inner;
    if (const Json *its = inner.find("config")) to["config"] = f(inner, *its);
    return to;
  };
  Json to = config;
  for (const char *key : inner_keys)
    if (const Json *inner = config.find(key); inner && inner->is_object()) to[key] = changed(*inner);
  const Json *name = layer.find("class_name");
  const char *key = name && *name == "Pipeline" ? "layers" : "cells";
  if (const Json *several = config.find(key); several && several->is_array()) {
    Json list = Json::array();
    for (const Json &one : *several) list.push_back(changed(one));
    to[key] = std::move(list);
  }
  return to;
}

// Everything is float32, which kinds without a "dtype" take too, except products in mixed_bfloat16, for which a
// wrapper's inner layer decides.
// Quantizing policies become this library's attribute.
Json in_float32(const Json &layer, const Json &config) {
  const Json *name = layer.find("class_name");
  Json to = with_inner(layer, with_quantization(name && name->is_string() ? name->get<std::string>() : "", config),
                       in_float32);
  const std::string floats = floats_of(to);
  if (floats == kinds::mixed_bfloat16 && !has_inner(to))
    to["dtype"] = floats;
  else if (!floats.empty())
    to["dtype"] = "float32";
  return to;
}

Layer layer_of(const Json &j) {
  const Json &config = member(j, "config");
  // Keras omits the name from the config of a class without its own get_config().
  const Json &named = config.find("name") ? config : j;
  const std::string name = string_of(named, named.find("name") ? "name" : "class_name");
  need_registered(j, name, string_of(j, "class_name"));
  if (string_of(j, "class_name") == "InputLayer")
    return input(name, member(config, "batch_shape"), config.find("dtype"));
  Layer l;
  l.name = name;
  l.class_name = string_of(j, "class_name");
  if (l.class_name == "TFDIdentity") l.class_name = "Identity";  // a FeatureSpace's own
  if (l.class_name == "TFDConcat") l.class_name = "Concatenate";
  l.config = in_float32(j, config);
  return l;
}

Layer operation_of(const Json &j) {
  Layer l;
  l.role = Architecture::Role::operation;
  l.config = member(j, "config");
  l.name = string_of(l.config, "name");
  l.class_name = string_of(j, "class_name");
  return l;
}

Architecture sequential(const Json &layers, const Json &input_shape) {
  Architecture a;
  for (const Json &j : layers) {
    Layer l = layer_of(j);
    if (a.layers.empty() && l.role != Architecture::Role::input) {
      if (input_shape.is_null()) fail(Code::corrupt_file, "a Sequential of unknown input shape");
      a.layers.push_back(input("input_layer", input_shape, nullptr));
    }
    if (!a.layers.empty()) l.calls.push_back({{{{a.layers.back().name, 0}, 0}}, Json::object(), {}});
    a.layers.push_back(std::move(l));
  }
  if (a.layers.empty()) fail(Code::corrupt_file, "a Sequential without layers");
  a.inputs = {{{a.layers.front().name, 0}, 0}};
  a.outputs = {{{a.layers.back().name, 0}, 0}};
  return a;
}

Architecture functional(const Json &layers, const Json &inputs, const Json &outputs) {
  Architecture a;
  for (const Json &j : layers) {
    const bool operation = is_operation(j);
    Layer l = operation ? operation_of(j) : layer_of(j);
    Calls calls(l.name, a.layers);
    if (l.role != Architecture::Role::input)
      for (const Json &node : member(j, "inbound_nodes"))
        l.calls.push_back(operation ? calls.of_operation(node) : calls.of_layer(node));
    a.layers.push_back(std::move(l));
  }
  a.inputs = histories(inputs);
  a.outputs = histories(outputs);
  for (Ref &ref : a.outputs) ref.of.call -= first_node(a, ref);
  return a;
}

bool is_model(const Json &class_name) {
  return class_name == "Functional" || class_name == "Sequential" || class_name == "Model";
}

Architecture of_config(const Json &config);

// Converts inner models to this library's architectures.
Json with_architectures(const Json &layer, const Json &config) {
  const Json *name = layer.find("class_name"), *layers = config.find("layers");
  if (!name || !is_model(*name)) return with_inner(layer, config, with_architectures);
  if (!layers || layers->is_null()) return config;
  Json to = config;
  for (const char *key : {"layers", "input_layers", "output_layers", "build_input_shape"}) to.erase(key);
  to["model"] = graph::to_json(graph::model_of(of_config(config))->architecture());
  return to;
}

class KerasTranslation final : public graph::Translation {
 public:
  Json config(const Layer &layer) const override try {
    return with_architectures({{"class_name", layer.class_name}}, layer.config);
  } catch (Error &e) {
    if (e.code == Code::corrupt_file) e.code = Code::invalid_argument;
    throw;
  }
  void need_operation(const Layer &layer) const override { keras::need_operation(layer); }
  std::vector<Node> add_operation(Graph &g, const Layer &layer, int64_t call, const Json &arguments,
                                  const std::vector<Node> &in) const override {
    return keras::add_operation(g, layer, call, arguments, in);
  }
};

// From the config of a Functional or, without "input_layers", a Sequential.
Architecture of_config(const Json &config) {
  static const KerasTranslation translation;
  const Json &layers = config.at("layers");
  if (!layers.is_array()) unlike("a list of layers", layers);
  const Json inputs = config.value("input_layers", nullptr);
  Architecture a = inputs.is_null() ? sequential(layers, config.value("build_input_shape", nullptr))
                                    : functional(layers, inputs, config.value("output_layers", nullptr));
  a.translation = &translation;
  return a;
}

void collect_floats(const Json &j, std::vector<std::string> &to) {
  if (const std::string type = j.is_object() ? floats_of(j) : "";
      !type.empty() && type != "float32" && std::find(to.begin(), to.end(), type) == to.end())
    to.push_back(type);
  if (j.is_array())
    for (const Json &item : j) collect_floats(item, to);
  for (const auto &[key, item] : j.items()) collect_floats(item, to);
}

}  // namespace

Error of_layer(Code code, const std::string &layer, const std::string &why) {
  return Error(code, text("layer \"", layer, "\": ", why)).with("layer", layer);
}

Json object(std::string_view module, const std::string &class_name, Json config) {
  return {{"module", module}, {"class_name", class_name}, {"config", std::move(config)}, {"registered_name", nullptr}};
}

std::vector<std::string> other_floats(const Json &model) {
  std::vector<std::string> types;
  collect_floats(model, types);
  return types;
}

int64_t first_node(const Architecture &a, const Ref &output) {
  const auto of = [&](const Layer &l) { return l.name == output.of.layer; };
  const auto it = std::find_if(a.layers.begin(), a.layers.end(), of);
  return it != a.layers.end() && it->class_name == "Functional";
}

bool is_named(const Json &j, std::string_view class_name) {
  const Json *name = j.find("class_name");
  return name && *name == class_name;
}

bool is_tensor(const Json &j) { return is_named(j, "__keras_tensor__"); }

Ref tensor(const Json &j) { return history(member(member(j, "config"), "keras_history")); }

Shape shape_of(const Json &j) {
  if (!j.is_array() || j.size() > max_rank) unlike(text("a shape of at most ", max_rank, " dims"), j);
  std::vector<int64_t> dims;
  for (const Json &d : j) {
    if (!d.is_null() && !d.is_int64()) unlike("a dim, or null", d);
    dims.push_back(d.is_null() ? free_dim : d.get<int64_t>());
  }
  return Shape(dims);
}

Architecture architecture_of(const Json &j) {
  const Json *name = j.find("class_name"), *config = j.find("config");
  if (!name || !name->is_string() || !config || !config->is_object())
    fail(Code::corrupt_file, "expected a model's \"class_name\" and \"config\"");
  if (*name == "FeatureSpace")
    throw Error(Code::unsupported,
                "the file is of a FeatureSpace alone, which is not read: save a model between its "
                "get_inputs() and get_encoded_features()")
        .with("got", "FeatureSpace");
  if (!config->contains("layers") || !(is_model(*name)))
    throw Error(Code::unsupported, text("the model is of the custom class ", name->shown(),
                                        ": its code is not in the file; only functional and sequential models can be "
                                        "read"))
        .with("got", name->get<std::string>());
  return of_config(*config);
}

namespace {

using Names = std::map<std::string, std::string>;

// Renames layers wherever a call or a list of inputs or outputs refers to them.
Json renamed(const Json &j, const Names &names) {
  return each_history(j, [&](const Json &ref) {
    const auto it = names.find(ref[0].get<std::string>());
    return it == names.end() ? ref : Json::array({it->second, ref[1], ref[2]});
  });
}

Names new_names(const Json &layers) {
  std::set<std::string> taken;
  for (const Json &l : layers) taken.insert(l["name"].get<std::string>());
  Names names;
  for (const Json &l : layers) {
    const std::string name = l["name"].get<std::string>();
    if (name.find('/') == std::string::npos) continue;
    std::string base = name;
    std::replace(base.begin(), base.end(), '/', '_');
    std::string now = base;
    for (int64_t n = 1; !taken.insert(now).second; ++n) now = text(base, '_', n);
    names.emplace(name, std::move(now));
  }
  return names;
}

}  // namespace

Json without_slashes(const Json &layer) {
  if (!layer.is_object() || !layer.contains("config")) return layer;
  Json to = layer, config = layer["config"];
  if (const Json *layers = config.find("layers"); layers && layers->is_array() && config.contains("input_layers")) {
    const Names names = new_names(*layers);
    Json all = Json::array();
    for (const Json &l : *layers) {
      Json inner = without_slashes(l);
      if (const auto it = names.find(l["name"].get<std::string>()); it != names.end())
        inner["name"] = inner["config"]["name"] = it->second;
      if (const Json *nodes = l.find("inbound_nodes")) inner["inbound_nodes"] = renamed(*nodes, names);
      all.push_back(std::move(inner));
    }
    config["layers"] = std::move(all);
    for (const char *key : {"input_layers", "output_layers"}) config[key] = renamed(Json(config[key]), names);
  }
  for (const char *key : {"layer", "backward_layer", "cell"})
    if (const Json *inner = config.find(key)) config[key] = without_slashes(Json(*inner));
  to["config"] = std::move(config);
  return to;
}

}  // namespace dl4::io::keras
