// Layer names in Keras's files, which can't contain slashes.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "io/keras/json.hpp"

namespace dl4::io::keras {
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
