// dl4 diff.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "models.hpp"

namespace dl4::tool {
namespace {

struct DiffOptions {
  std::string a, b;
  double tolerance = 0;
};

// The layers of an architecture by name.
std::map<std::string, Json> configs_by_name(const Json &architecture) {
  std::map<std::string, Json> all;
  for (const Json &l : architecture.at("layers")) all.emplace(l.at("name").get<std::string>(), l);
  return all;
}

void compare(const std::string &path, const Json &a, const Json &b, Json &to) {
  if (!a.is_object() || !b.is_object()) {
    if (a != b) to.push_back({{"key", path}, {"a", a}, {"b", b}});
    return;
  }
  std::set<std::string> keys;
  for (const Json *side : {&a, &b})
    for (const auto &[key, value] : side->items()) keys.insert(key);
  for (const std::string &key : keys)
    compare(path.empty() ? key : path + "." + key, a.value(key, Json()), b.value(key, Json()), to);
}

Json layers_differ(const Json &a, const Json &b) {
  Json list = Json::array();
  const auto in_a = configs_by_name(a), in_b = configs_by_name(b);
  for (const auto &[name, layer] : in_a) {
    const auto other = in_b.find(name);
    Json keys = Json::array();
    if (other != in_b.end()) compare("", layer, other->second, keys);
    if (other == in_b.end())
      list.push_back({{"layer", name}, {"only", "a"}});
    else if (!keys.empty())
      list.push_back({{"layer", name}, {"keys", std::move(keys)}});
  }
  for (const auto &[name, layer] : in_b)
    if (!in_a.count(name)) list.push_back({{"layer", name}, {"only", "b"}});
  Json ends = Json::array();
  for (const char *key : {"inputs", "outputs"}) compare(key, a.at(key), b.at(key), ends);
  if (!ends.empty()) list.push_back({{"layer", ""}, {"keys", std::move(ends)}});
  return list;
}

// The largest distance; two NaN are equal, one is as far as can be.
double distance(const Tensor &a, const Tensor &b) {
  double most = 0;
  const auto x = a.data(), y = b.data();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double d = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    most = std::max(most, std::isnan(d) ? HUGE_VAL : d);
  }
  return most;
}

Json weights_differ(const Model &a, const Model &b, double tolerance) {
  Json list = Json::array();
  const auto in_a = a.weight_names(), in_b = b.weight_names();
  const std::set<std::string> of_a(in_a.begin(), in_a.end()), of_b(in_b.begin(), in_b.end());
  for (const std::string &name : in_a) {
    if (!of_b.count(name)) {
      list.push_back({{"weight", name}, {"only", "a"}});
      continue;
    }
    const Tensor x = a.weight(name), y = b.weight(name);
    if (x.dims() != y.dims()) {
      list.push_back({{"weight", name}, {"shapes", {x.dims(), y.dims()}}});
      continue;
    }
    const double d = distance(x, y);
    if (d <= tolerance) continue;
    // JSON has no infinity.
    list.push_back({{"weight", name}, {"distance", std::isinf(d) ? Json("inf") : Json(d)}});
  }
  for (const std::string &name : in_b)
    if (!of_a.count(name)) list.push_back({{"weight", name}, {"only", "b"}});
  return list;
}

std::string text_of(const Json &layers, const Json &weights) {
  std::string text;
  for (const Json &l : layers) {
    const auto name = l["layer"].get<std::string>();
    const std::string who = name.empty() ? "model" : "layer " + name;
    if (l.contains("only")) text += who + ": only in " + l["only"].get<std::string>() + '\n';
    if (l.contains("keys"))
      for (const Json &k : l["keys"])
        text += who + ", " + k["key"].get<std::string>() + ": " + k["a"].dump() + " and " + k["b"].dump() + '\n';
  }
  for (const Json &w : weights) {
    text += "weight " + w["weight"].get<std::string>() + ": ";
    if (w.contains("only"))
      text += "only in " + w["only"].get<std::string>() + '\n';
    else if (w.contains("shapes"))
      text += w["shapes"][0].dump() + " and " + w["shapes"][1].dump() + '\n';
    else
      text += "differs by " + w["distance"].dump() + '\n';
  }
  return text;
}

}  // namespace

Command diff_command(const Common &common) {
  auto o = std::make_shared<DiffOptions>();
  return {"diff",
          "where two models differ, in layers and weights; ends with 1 if they do",
          {{"A", "A", "a model", &o->a, true},
           {"B", "B", "another", &o->b, true},
           {"--tolerance", "T", "largest distance of two weights that counts as none; default 0", &o->tolerance}},
          [=, &common] {
            const Model a = open_model(common, o->a), b = open_model(common, o->b);
            const Json layers = layers_differ(architecture(a), architecture(b)),
                       weights = weights_differ(a, b, o->tolerance);
            const bool equal = layers.empty() && weights.empty();
            if (common.json)
              print(Json{{"a", o->a}, {"b", o->b}, {"equal", equal}, {"layers", layers}, {"weights", weights}});
            else
              print(text_of(layers, weights));
            return equal ? done : no;
          }};
}

}  // namespace dl4::tool
