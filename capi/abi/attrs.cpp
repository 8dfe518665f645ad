// Bags of values.
#include <algorithm>
#include <memory>

#include "io/native/safetensors.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

constexpr size_t max_key = 1024, max_json = 100'000'000;

std::string key_of(std::string k) {
  if (k.empty()) refuse_argument("key", "expected a name, got an empty text");
  if (k.size() > max_key) refuse_argument("key", text("a name of ", k.size(), " bytes; at most ", max_key));
  if (k.find('\0') != std::string::npos)
    refuse_argument("key", text("expected a text without U+0000, got ", Json(k).shown()));
  return k;
}
std::string key_of(const char *key) { return key_of(string(key, "key")); }

// "cell/config/model": the keys to a value inside a bag.
std::vector<std::string> path_of(const std::string &key) {
  std::vector<std::string> path;
  for (size_t from = 0, to; from <= key.size(); from = to + 1) {
    to = std::min(key.find('/', from), key.size());
    path.push_back(key_of(key.substr(from, to - from)));
  }
  return path;
}

// Where the value at a path stands, or will; refuses a path through what is no object.
Json &place(Json &bag, const std::vector<std::string> &path) {
  Json *at = &bag;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (!at->contains(path[i]) || !(*at)[path[i]].is_object())
      refuse_argument("key", text("expected an object at ", Json(path[i]).shown(), ", got none"));
    at = &(*at)[path[i]];
  }
  return (*at)[path.back()];
}

// Is one of the paths the beginning of the other, or the other?
bool overlap(const std::vector<std::string> &a, const std::vector<std::string> &b) {
  return std::equal(a.begin(), a.begin() + std::min(std::ssize(a), std::ssize(b)), b.begin());
}

}  // namespace

Json json_object(const char *json, const char *argument) {
  if (!json) return Json::object();
  const std::string given = string(json, argument);
  if (given.size() > max_json)
    refuse_argument(argument, text("a text of ", given.size(), " bytes; at most ", max_json));
  return io::parse_object(given, Code::invalid_argument, argument);
}

Json plain(const dl4_attrs *attrs, const char *argument) {
  const dl4_attrs *a = object_or_null(attrs, argument);
  if (!a) return Json::object();
  Gate::Reading reading(a->gate, "bag");
  if (!a->nodes.empty())
    throw Error(Code::invalid_argument,
                text('"', a->nodes.begin()->first, "\": got a symbolic value, which is not accepted here"))
        .with("attribute", a->nodes.begin()->first)
        .with("got", "a symbolic value");
  return a->json;
}

std::vector<GivenModel> models_of(const dl4_attrs *attrs) {
  const dl4_attrs *a = object_or_null(attrs, "a");
  if (!a) return {};
  Gate::Reading reading(a->gate, "bag");
  return a->models;
}

std::vector<graph::Node> nodes_of(std::span<const dl4_node> numbers) {
  std::vector<graph::Node> nodes;
  for (dl4_node n : numbers) nodes.push_back(graph::Node{n});
  return nodes;
}

graph::Arguments call_arguments(const dl4_attrs *attrs) {
  graph::Arguments arguments;
  const dl4_attrs *a = object_or_null(attrs, "call");
  if (!a) return arguments;
  Gate::Reading reading(a->gate, "bag");
  arguments.plain = a->json;
  for (const auto &[key, list] : a->nodes) arguments.nodes[key] = nodes_of(list);
  return arguments;
}

std::string describe(const dl4_attrs &a, int32_t format) {
  if (format != DL4_FORMAT_JSON && format != DL4_FORMAT_TEXT) refuse_format(Tag::attrs, format);
  Gate::Reading reading(a.gate, "bag");
  Json j = a.json;
  for (const auto &[key, n] : a.nodes) j[key] = {{"nodes", n}};
  return j.dump(format == DL4_FORMAT_JSON ? -1 : 1);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_attrs_create(const char *json, dl4_attrs **out) {
  clear(out);
  return guard(__func__, [&] {
    auto *&to = needed(out, "out");
    auto bag = std::make_unique<dl4_attrs>();
    bag->json = json_object(json, "json");
    for (const auto &[key, value] : bag->json.items()) key_of(std::string(key));
    to = bag.release();
  });
}

dl4_error *dl4_attrs_set_model(dl4_attrs *a, const char *key, const dl4_model *v) {
  return guard(__func__, [&] {
    dl4_attrs &bag = object(a, "a");
    const std::vector<std::string> path = path_of(string(key, "key"));
    const dl4_model &model = object(v, "v");
    Json layer{{"class_name", "Functional"}, {"config", Json::object()}};
    {
      Gate::Reading reading(*model.weights, "model");
      layer["config"]["model"] = graph::to_json(model.core->architecture());
    }
    Gate::Alone alone(bag.gate, "bag");
    Json copy = bag.json;
    place(copy, path) = std::move(layer);
    io::parse_object(dump(copy), Code::invalid_argument, "the bag");  // within the limit of nesting
    std::vector<GivenModel> models = bag.models;
    std::erase_if(models, [&](const GivenModel &given) { return overlap(given.model.path, path); });
    models.push_back({{path, model.core}, model.weights});
    bag.nodes.erase(path[0]);
    bag.json = std::move(copy);
    bag.models = std::move(models);
  });
}

dl4_error *dl4_attrs_set_nodes(dl4_attrs *a, const char *key, const dl4_node *v, int64_t n) {
  return guard(__func__, [&] {
    dl4_attrs &bag = object(a, "a");
    std::string k = key_of(key);
    auto list = array(v, n, "v");
    Gate::Alone alone(bag.gate, "bag");
    auto nodes = bag.nodes;
    nodes[k].assign(list.begin(), list.end());
    bag.forget(k);
    bag.json.erase(k);
    bag.nodes = std::move(nodes);
  });
}
