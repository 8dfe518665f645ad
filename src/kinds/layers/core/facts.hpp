// What the registry tells of a layer beside its fields: inputs, outputs, weights, call arguments, the rule for masks.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"

namespace dl4::kinds {

// Letters: B batch, T time, H W image, C channels, ... any axes.
struct Port {
  const char *name;
  std::string shape;
  const char *condition = nullptr;  // the attribute or argument without which it is not there
};

struct CallArgument {
  const char *name, *type;
  std::string doc;
};

struct Facts {
  std::vector<Port> inputs, outputs;
  std::vector<Port> weights{};
  std::vector<CallArgument> arguments{};
  const char *mask = "dropped";

  Json json() const;
};

}  // namespace dl4::kinds
