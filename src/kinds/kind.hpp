// What is registered: a kind of layer, loss, metric, optimizer, ... with the one list of its fields.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace dl4::kinds {

class Kind;

// One field as the registry serves it.
struct FieldInfo {
  std::string key, type, doc;
  bool required = false;
  Json fallback;          // the default
  Json minimum, maximum;  // null = none
  std::vector<std::string> choices;
  std::string category;  // of a nested kind
};

// One registered kind.
struct Entry {
  std::string category, name, doc;
  int version = 1;
  std::vector<std::string> aliases;
  std::vector<FieldInfo> fields;
  Json more;  // what the category adds for readers: inputs, outputs, weights, call arguments
  // From Keras's config; refuses unknown keys, wrong types and ranges, naming the key. Empty for activations.
  std::function<std::shared_ptr<const Kind>(const Json &config)> make;
  // A config of an older version, brought up to this one.
  std::function<Json(Json config, int from)> upgrade;
};

class Kind {
 public:
  virtual ~Kind() = default;
  virtual const Entry &entry() const = 0;
  // Every field, defaults included.
  virtual Json config() const = 0;
};

// Built-in kinds of a category in the order of the list; refuses an unknown category.
const std::vector<const Entry *> &entries(const std::string &category);
const std::vector<std::string> &categories();
// By class name or alias, without regard to case and underscores; refuses with UNKNOWN_KIND and the nearest name.
const Entry &find(const std::string &category, const std::string &name);
// {category: {name: {"doc", "version", "attributes", ...}}}; empty strings mean all. Beside the layers stands
// "every_layer": what each of them takes beside its own.
Json describe(const std::string &category, const std::string &name);

// A nested kind as Keras writes it: null, a name, or {"class_name", "config"}.
std::shared_ptr<const Kind> parse(const std::string &category, const Json &j);
// {"class_name", "config"}, or null.
Json to_json(const Kind *k);
// A config that was written at `version`, as this library has it. Refuses one that is newer (VERSION).
Json upgraded(const Entry &e, Json config, int64_t version);

template <class C>
using Of = std::shared_ptr<const C>;

}  // namespace dl4::kinds
