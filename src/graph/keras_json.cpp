// Keras 3's get_config() of models as an architecture.
#include "graph/keras_json.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "graph/keras_ops.hpp"
#include "kinds/kind.hpp"

namespace dl4::graph {
namespace {

using Call = Architecture::Call;
using Layer = Architecture::Layer;
using Ref = Architecture::Ref;

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

bool is_history(const Json &j) {
  return j.is_array() && j.size() == 3 && j[0].is_string() && j[1].is_int64() && j[2].is_int64();
}

Ref history(const Json &j) {
  if (!is_history(j)) unlike("[layer, node, tensor]", j);
  const auto node = j[1].get<int64_t>();
  if (node < 0) unlike("a node of at least 0", j);
  return {{j[0].get<std::string>(), node}, j[2].get<int64_t>()};
}

// All of a structure of lists and, in the order of their keys, objects.
template <class F>
void each(const Json &j, F f) {
  if (j.is_object() && !is_tensor(j)) {
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

Call call_of(const Json &node) {
  Call call;
  each(member(node, "args"), [&](const Json &j) {
    if (!is_tensor(j)) unlike("a tensor as positional argument", j);
    call.inputs.push_back(tensor(j));
  });
  const Json &kwargs = member(node, "kwargs");
  // Inputs by their names, in the order of Keras's signatures.
  constexpr std::string_view inputs[] = {"inputs", "sequences", "sequence", "query", "value", "key"};
  for (std::string_view key : inputs)
    if (const Json *value = kwargs.find(key)) each(*value, [&](const Json &j) { call.inputs.push_back(tensor(j)); });
  for (const auto &[key, value] : kwargs.items()) {
    // What the model is called with goes before a layer's "training", in Keras.
    if (value.is_null() || key == "training" ||
        std::find(std::begin(inputs), std::end(inputs), key) != std::end(inputs))
      continue;
    const bool list = value.is_array() && std::any_of(value.begin(), value.end(), is_tensor);
    if (!list && !is_tensor(value)) {
      call.arguments[std::string(key)] = value;
      continue;
    }
    auto &refs = call.values[std::string(key)];
    each(value, [&](const Json &j) { refs.push_back(j.is_null() ? std::nullopt : std::optional(tensor(j))); });
  }
  return call;
}

Layer input(const std::string &name, const Json &shape, const Json *dtype) {
  Layer l;
  l.role = Architecture::Role::input;
  l.name = name;
  l.shape = shape_of(shape);
  if (dtype && dtype->is_string()) l.dtype = dtype_from(dtype->get<std::string>());
  return l;
}

// A class of the user's own, as the file says: only one that was registered here can be meant.
void need_registered(const Json &j, const std::string &name, const std::string &class_name) {
  const Json *module = j.find("module"), *registered = j.find("registered_name");
  const std::string from = module && !module->is_null() ? module->get<std::string>() : "keras";
  const bool of_keras = from.starts_with("keras") || from.starts_with("tf_keras");
  const bool custom =
      registered && registered->is_string() && registered->get<std::string>().find('>') != std::string::npos;
  if (class_name == "Lambda")
    throw Error(Code::unsupported, text("layer \"", name, "\": a Lambda's code is not run; build it of layers instead"))
        .with("layer", name);
  if (of_keras && !custom) return;
  const auto &own = kinds::entries("layer");
  const auto of_ours = [&](const kinds::Entry *e) { return e->name == class_name; };
  if (std::any_of(own.begin(), own.end(), of_ours))
    throw Error(Code::unsupported, text("layer \"", name, "\" is of a class of its own named \"", class_name,
                                        "\", not of Keras's; its code is not in the file"))
        .with("layer", name);
}

Layer layer_of(const Json &j) {
  const Json &config = member(j, "config");
  // Keras gives a class without a get_config() of its own one without the name.
  const Json &named = config.find("name") ? config : j;
  const std::string name = string_of(named, named.find("name") ? "name" : "class_name");
  need_registered(j, name, string_of(j, "class_name"));
  if (string_of(j, "class_name") == "InputLayer")
    return input(name, member(config, "batch_shape"), config.find("dtype"));
  Layer l;
  l.name = name;
  l.class_name = string_of(j, "class_name");
  l.config = config;
  return l;
}

// May a value carry a mask?
bool any_mask(const Json &j) {
  const Json *name = j.find("class_name"), *config = j.find("config"),
             *zero = config ? config->find("mask_zero") : nullptr;
  if (name && (*name == "Masking" || (zero && *zero == true))) return true;
  for (const auto &[key, item] : j.items())
    if (any_mask(item)) return true;
  return std::any_of(j.begin(), j.end(), any_mask);
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

}  // namespace

int64_t first_node(const Architecture &a, const Ref &output) {
  const auto of = [&](const Layer &l) { return l.name == output.of.layer; };
  const auto it = std::find_if(a.layers.begin(), a.layers.end(), of);
  return it != a.layers.end() && it->class_name == "Functional";
}

bool is_tensor(const Json &j) {
  const Json *name = j.is_object() ? j.find("class_name") : nullptr;
  return name && *name == "__keras_tensor__";
}

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

Architecture keras_architecture(const Json &layers, const Json &inputs, const Json &outputs, const Json &input_shape) {
  if (!layers.is_array()) unlike("a list of layers", layers);
  if (inputs.is_null()) return sequential(layers, input_shape);
  Architecture a;
  Maskless maskless{!any_mask(layers)};
  for (const Json &j : layers) {
    if (is_operation(j)) {
      add_operation(j, maskless, a.layers);
      continue;
    }
    Layer l = layer_of(j);
    if (l.role == Architecture::Role::input) maskless.layers.insert(l.name);
    if (l.role == Architecture::Role::kind)
      for (const Json &node : member(j, "inbound_nodes")) l.calls.push_back(call_of(node));
    a.layers.push_back(std::move(l));
  }
  a.inputs = histories(inputs);
  a.outputs = histories(outputs);
  for (Ref &ref : a.outputs) ref.of.call -= first_node(a, ref);
  return a;
}

}  // namespace dl4::graph
