// What the registry tells of a layer beside its fields: inputs, outputs, weights, call arguments, the rule for masks.
#pragma once

#include <initializer_list>
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
  constexpr MaskRule(const char *words = "dropped") : words(words) {}

  const char *words;   // of those of the outputs
  bool noted = false;  // so is one with a call argument "mask"
  bool built = true;   // do the outputs have masks in the graph as it is built? Else only when it runs
};

// Facts as they stand in a layer's file. Where no option changes them they are a constant.
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
  std::vector<bool> taken_off{};  // by input: do calls that follow find no mask on it, for Keras's layer takes it off?

  bool takes_mask_off(size_t input) const { return input < taken_off.size() && taken_off[input]; }
  // Is the mask of the only input of a call noted in the graph, so that it stays whatever takes it off: as Keras does
  // for layers with an argument `mask`?
  bool notes_mask() const;
  Json json() const;
};

}  // namespace dl4::kinds
