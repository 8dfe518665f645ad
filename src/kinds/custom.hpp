// Kinds from outside the library: layers and losses whose numbers a function of the user's computes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinds/kind.hpp"
#include "ops/custom.hpp"

namespace dl4::kinds {

struct CustomKind {
  std::string category;  // layer, loss (which brings its metric) or metric
  std::string name, doc;
  std::vector<std::string> weights;  // of a layer
  std::optional<bool> rises;         // of a metric: is a greater value a better one?
  // The function for what stands as "config" among the attributes.
  std::function<std::shared_ptr<const ops::CustomFunction>(const std::string &config)> function;
};

// For what is made from now on; one of that category and name that was added before is replaced. Refuses the name of a
// kind of the library's own.
void add_custom(CustomKind kind);
// Its name is unknown from now on, of a loss that of its metric too. What was made of it keeps its functions. Refuses a
// name under which none was added.
void remove_custom(const std::string &category, const std::string &name);

// In the registry: what was added under a name, null if nothing was, and its end.
const Entry *find_added(std::string_view category, std::string_view name);
void remove(const Entry &e);

}  // namespace dl4::kinds
