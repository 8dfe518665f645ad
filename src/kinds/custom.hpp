// User-defined layers and losses, computed by a function of the host.
#pragma once

#include <functional>

#include "kinds/kind.hpp"
#include "ops/custom.hpp"

namespace dl4::kinds {

struct CustomKind {
  std::string category;  // layer, loss (which also registers a metric) or metric
  std::string name, doc;
  std::vector<std::string> weights;  // of a layer
  std::optional<bool> rises;         // of a metric: whether greater values are better
  // Makes the function for the value of the attribute "config".
  std::function<std::shared_ptr<const ops::CustomFunction>(const std::string &config)> function;
};

// Registers a kind for later use, replacing an added one of that category and name. Refuses names of built-in kinds.
void add_custom(CustomKind kind);
// Removes a kind, and a loss's metric. Objects made of it keep its functions. Refuses names that were not added.
void remove_custom(const std::string &category, const std::string &name);

// Registry functions: finds an added kind (null: none), and the end of its life.
const Entry *find_added(std::string_view category, std::string_view name);
void remove(const Entry &e);

}  // namespace dl4::kinds
