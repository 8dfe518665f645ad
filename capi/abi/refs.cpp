// Configs as text, with the models and nodes that text can't hold.
#include "io/native/safetensors.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

constexpr size_t max_key = 1024, max_json = 100'000'000;

std::string key_of(std::string k) {
  if (k.empty()) refuse_argument("key", "expected a name, got an empty text");
  if (k.size() > max_key) refuse_argument("key", text("a name of ", k.size(), " bytes; at most ", max_key));
  return k;
}

// "cell/config/model": the keys that lead to a value in a config.
std::vector<std::string> path_of(const std::string &key) {
  std::vector<std::string> path;
  for (size_t from = 0, to; from <= key.size(); from = to + 1) {
    to = std::min(key.find('/', from), key.size());
    path.push_back(key_of(key.substr(from, to - from)));
  }
  return path;
}

[[noreturn]] void refuse_reference(const std::string &key, const char *expected, const char *got) {
  throw Error(Code::invalid_argument, text('"', key, "\" of refs: expected ", expected, ", got ", got))
      .with("attribute", key)
      .with("expected", expected)
      .with("got", got);
}

void put_model(Json &config, const std::string &key, const GivenModel &given) {
  const std::vector<std::string> &path = given.model.path;
  Json *at = &config;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (!at->contains(path[i]) || !(*at)[path[i]].is_object())
      refuse_reference(key, "an object in the config around it", "none");
    at = &(*at)[path[i]];
  }
  if (at->contains(path.back())) refuse_reference(key, "no value in the config", "one there too");
  (*at)[path.back()] = {{"class_name", "Functional"}, {"config", {{"model", given.architecture()}}}};
}

}  // namespace

Json GivenModel::architecture() const {
  Gate::Reading reading(*weights, "model");
  return graph::to_json(model.model->architecture());
}

Json json_object(const char *json, const char *argument) {
  if (!json) return Json::object();
  const std::string given = string(json, argument);
  if (given.size() > max_json)
    refuse_argument(argument, text("a text of ", given.size(), " bytes; at most ", max_json));
  return io::parse_object(given, Code::invalid_argument, argument);
}

Config config_of(const char *text, const dl4_refs *refs) {
  Config config{json_object(text, "config"), {}};
  const dl4_refs *r = object_or_null(refs, "refs");
  if (!r) return config;
  Gate::Reading reading(r->gate, "dl4_refs");
  for (const auto &[key, given] : r->models) {
    put_model(config.attributes, key, given);
    config.models.push_back(given);
  }
  if (!r->models.empty())  // within the nesting limit
    io::parse_object(dump(config.attributes), Code::invalid_argument, "config");
  return config;
}

void refuse_nodes(const dl4_refs *refs) {
  const dl4_refs *r = object_or_null(refs, "refs");
  if (!r) return;
  Gate::Reading reading(r->gate, "dl4_refs");
  if (!r->nodes.empty()) refuse_reference(r->nodes.begin()->first, "a model", "nodes");
}

void refuse_models(const dl4_refs *refs) {
  const dl4_refs *r = object_or_null(refs, "refs");
  if (!r) return;
  Gate::Reading reading(r->gate, "dl4_refs");
  if (!r->models.empty()) refuse_reference(r->models.begin()->first, "nodes", "a model");
}

std::vector<graph::Node> nodes_of(std::span<const dl4_node> numbers) {
  std::vector<graph::Node> nodes;
  for (dl4_node n : numbers) nodes.push_back(graph::Node{n});
  return nodes;
}

graph::Arguments call_arguments(const char *call, const dl4_refs *refs) {
  graph::Arguments arguments;
  arguments.plain = json_object(call, "call");
  const dl4_refs *r = object_or_null(refs, "refs");
  if (!r) return arguments;
  Gate::Reading reading(r->gate, "dl4_refs");
  for (const auto &[key, list] : r->nodes) {
    if (arguments.plain.contains(key)) refuse_reference(key, "no value in the call's text", "one there too");
    arguments.nodes[key] = nodes_of(list);
  }
  return arguments;
}

std::string describe(const dl4_refs &refs, int32_t format) {
  if (format != DL4_FORMAT_JSON && format != DL4_FORMAT_TEXT) refuse_format(Tag::refs, format);
  Gate::Reading reading(refs.gate, "dl4_refs");
  Json j{{"models", Json::object()}, {"nodes", Json::object()}};
  for (const auto &[key, given] : refs.models) j["models"][key] = given.architecture();
  for (const auto &[key, nodes] : refs.nodes) j["nodes"][key] = nodes;
  return j.dump(format == DL4_FORMAT_JSON ? -1 : 1);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_refs_create(dl4_refs **out) {
  return produce(__func__, out, [&] { return new dl4_refs; });
}

dl4_error *dl4_refs_set_model(dl4_refs *refs, const char *key, const dl4_model *model) {
  return guard(__func__, [&] {
    dl4_refs &to = object(refs, "refs");
    const std::string k = string(key, "key");
    std::vector<std::string> path = path_of(k);
    const dl4_model &given = object(model, "model");
    Gate::Alone alone(to.gate, "dl4_refs");
    to.models.insert_or_assign(k, GivenModel{{std::move(path), given.core}, given.weights});
  });
}

dl4_error *dl4_refs_set_nodes(dl4_refs *refs, const char *key, const dl4_node *nodes, int64_t n) {
  return guard(__func__, [&] {
    dl4_refs &to = object(refs, "refs");
    std::string k = key_of(string(key, "key"));
    auto list = array(nodes, n, "nodes");
    std::vector<dl4_node> copy(list.begin(), list.end());
    Gate::Alone alone(to.gate, "dl4_refs");
    to.nodes.insert_or_assign(std::move(k), std::move(copy));
  });
}
