// Facts in the registry besides a layer's fields: inputs, outputs, weights, call arguments and mask rule.
#pragma once

#include <initializer_list>
#include <vector>

#include "kinds/kind.hpp"

namespace dl4::kinds {

// Letters: B batch, T time, H W image, C channels, ... any axes.
struct Port {
  const char *name;
  Words shape;
  const char *condition = nullptr;  // the attribute or argument that it depends on
};

struct CallArgument {
  const char *name, *type;
  Words doc;
};

// For Keras's files: the location of weights that belong to an inner layer.
struct InsideOf {
  const char *key;        // attribute with the owning layer or list of layers; "": the layer itself
  const char *attribute;  // of Keras's object
};

// How masks are handled.
struct MaskRule {
  constexpr MaskRule(const char *words = "dropped") : words(words) {}

  const char *words;   // of the outputs' masks
  bool noted = false;  // also set for layers with a call argument "mask"
  bool built = true;   // whether the outputs have masks when the graph is built; else only at run time
};

// Facts as written in a layer's file: constant, unless options change them.
struct PlainFacts {
  std::initializer_list<Port> inputs, outputs;
  std::initializer_list<Port> weights{};
  std::initializer_list<CallArgument> arguments{};
  std::initializer_list<InsideOf> inside{};
  MaskRule mask{};
};

struct Facts {
  Facts() = default;
  Facts(const PlainFacts &plain);

  std::vector<Port> inputs, outputs;
  std::vector<Port> weights{};
  std::vector<CallArgument> arguments{};
  std::vector<InsideOf> inside{};
  MaskRule mask{};
  std::vector<bool> taken_off{};  // by input: Keras's layer removes its mask for later calls

  bool takes_mask_off(size_t input) const { return input < taken_off.size() && taken_off[input]; }
  // Whether the graph records the mask of a call's single input, so that it survives later removals, as in Keras for
  // layers with an argument `mask`.
  bool notes_mask() const;
  Json json() const;
};

}  // namespace dl4::kinds
