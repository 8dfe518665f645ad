// Bags of values.
#include <cmath>

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

// Puts a value under a key, in place of what was there.
template <class F>
dl4_error *set(const char *function, dl4_attrs *attrs, const char *key, F make) noexcept {
  return guard(function, [&] {
    dl4_attrs &a = object(attrs, "a");
    std::string k = key_of(key);
    Json value = make();
    Gate::Alone alone(a.gate, "bag");
    Json copy = a.json;
    copy[k] = std::move(value);
    a.forget(k);
    a.json = std::move(copy);
  });
}

// The same for what holds other things, within the limit of nesting.
void put(dl4_attrs &bag, const std::string &key, Json value, const std::vector<GivenModel> &models) {
  Gate::Alone alone(bag.gate, "bag");
  Json copy = bag.json;
  copy[key] = std::move(value);
  io::parse_object(dump(copy), Code::invalid_argument, "the bag");
  std::vector<GivenModel> all = bag.models;
  std::erase_if(all, [&](const GivenModel &given) { return given.model.path[0] == key; });
  all.insert(all.end(), models.begin(), models.end());
  bag.forget(key);
  bag.json = std::move(copy);
  bag.models = std::move(all);
}

void need_finite(double v) {
  if (!std::isfinite(v)) refuse_argument("v", text("expected a finite number, got ", v));
}

template <class T>
Json list(const T *v, int64_t n) {
  Json j = Json::array();
  for (const T &item : array(v, n, "v")) j.push_back(item);
  return j;
}

}  // namespace

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

dl4_error *dl4_attrs_create(dl4_attrs **out) {
  clear(out);
  return guard(__func__, [&] {
    auto *&to = needed(out, "out");
    to = new dl4_attrs;
  });
}

dl4_error *dl4_attrs_set_i64(dl4_attrs *a, const char *key, int64_t v) {
  return set(__func__, a, key, [&] { return Json(v); });
}

dl4_error *dl4_attrs_set_f64(dl4_attrs *a, const char *key, double v) {
  return set(__func__, a, key, [&] {
    need_finite(v);
    return Json(v);
  });
}

dl4_error *dl4_attrs_set_bool(dl4_attrs *a, const char *key, int32_t v) {
  return set(__func__, a, key, [&] { return Json(v != 0); });
}

dl4_error *dl4_attrs_set_str(dl4_attrs *a, const char *key, const char *v) {
  return set(__func__, a, key, [&] { return Json(string(v, "v")); });
}

dl4_error *dl4_attrs_set_i64s(dl4_attrs *a, const char *key, const int64_t *v, int64_t n) {
  return set(__func__, a, key, [&] { return list(v, n); });
}

dl4_error *dl4_attrs_set_f64s(dl4_attrs *a, const char *key, const double *v, int64_t n) {
  return set(__func__, a, key, [&] {
    for (double item : array(v, n, "v")) need_finite(item);
    return list(v, n);
  });
}

dl4_error *dl4_attrs_set_strs(dl4_attrs *a, const char *key, const char *const *v, int64_t n) {
  return set(__func__, a, key, [&] {
    Json j = Json::array();
    for (const char *item : array(v, n, "v")) j.push_back(string(item, "v"));
    return j;
  });
}

dl4_error *dl4_attrs_set_attrs(dl4_attrs *a, const char *key, const dl4_attrs *v) {
  return guard(__func__, [&] {
    dl4_attrs &bag = object(a, "a");
    std::string k = key_of(key);
    Json inner = plain(&object(v, "v"), "v");
    std::vector<GivenModel> models = models_of(v);
    for (GivenModel &given : models) given.model.path.insert(given.model.path.begin(), k);
    put(bag, k, std::move(inner), std::move(models));
  });
}

dl4_error *dl4_attrs_set_model(dl4_attrs *a, const char *key, const dl4_model *v) {
  return guard(__func__, [&] {
    dl4_attrs &bag = object(a, "a");
    std::string k = key_of(key);
    const dl4_model &model = object(v, "v");
    Json layer{{"class_name", "Functional"}, {"config", Json::object()}};
    {
      Gate::Reading reading(*model.weights, "model");
      layer["config"]["model"] = graph::to_json(model.core->architecture());
    }
    put(bag, k, std::move(layer), {{{{k}, model.core}, model.weights}});
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

dl4_error *dl4_attrs_merge_json(dl4_attrs *a, const char *json) {
  return guard(__func__, [&] {
    dl4_attrs &bag = object(a, "a");
    std::string given_text = string(json, "json");
    if (given_text.size() > max_json)
      refuse_argument("json", text("a text of ", given_text.size(), " bytes; at most ", max_json));
    Json given = io::parse_object(given_text, Code::invalid_argument, "json");
    std::vector<std::string> keys;
    for (const auto &[key, value] : given.items()) keys.push_back(key_of(std::string(key)));
    Gate::Alone alone(bag.gate, "bag");
    Json copy = bag.json;
    copy.update(given);
    for (const std::string &key : keys) bag.forget(key);
    bag.json = std::move(copy);
  });
}
