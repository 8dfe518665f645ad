// What the registry tells of a layer beside its fields: inputs, outputs, weights, call arguments, the rule for masks.
#pragma once

#include <vector>

#include "kinds/kind.hpp"

namespace dl4::kinds {

// Letters: B batch, T time, H W image, C channels, ... any axes.
struct Port {
  const char *name;
  Words shape;
  const char *condition = nullptr;  // the attribute or argument without which it is not there
};

struct CallArgument {
  const char *name, *type;
  Words doc;
};

// Where Keras's layer keeps weights that are not its own.
struct InsideOf {
  const char *key;        // the attribute with the layer, or the list of layers, whose they are; "": its own
  const char *attribute;  // of Keras's object
};

// What becomes of masks.
struct MaskRule {
  MaskRule(const char *words = "dropped", std::vector<bool> taken_off = {}) : words(words), taken_off(taken_off) {}

  const char *words;            // of those of the outputs
  std::vector<bool> taken_off;  // by input: do calls that follow find none on it, for Keras's layer takes it off?
  bool noted = false;           // so is one with a call argument "mask"
  bool built = true;            // do the outputs have masks in the graph as it is built? Else only when it runs
};

struct Facts {
  std::vector<Port> inputs, outputs;
  std::vector<Port> weights{};
  std::vector<CallArgument> arguments{};
  std::vector<InsideOf> inside{};
  MaskRule mask{};

  bool takes_mask_off(size_t input) const { return input < mask.taken_off.size() && mask.taken_off[input]; }
  // Is the mask of the only input of a call noted in the graph, so that it stays whatever takes it off: as Keras does
  // for layers with an argument `mask`?
  bool notes_mask() const;
  Json json() const;
};

}  // namespace dl4::kinds
