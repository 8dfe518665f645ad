// From a model to a Program with free dims.
#pragma once

#include <vector>

#include "graph/model.hpp"
#include "ops/emit.hpp"

namespace dl4::graph {

struct Lowered {
  std::vector<kinds::Symbol> outputs;
  std::vector<ops::Id> penalties;  // scalars that layers added to the loss
  // By weight of the model, what the calls left it holding; none where they wrote nothing.
  std::vector<ops::Id> writes;
};

// Emits the model's calls. `weights`: the value of each of the model's weights, in its order; `draws`: the counter of
// random draws, an int64; inputs are made by this function and named as the model's.
Lowered lower(ops::Emit &e, const Model &model, const std::vector<ops::Id> &weights, ops::Id draws, bool training);

// Refuses a model with a layer whose weights must be given first and are not.
void need_given_weights(const Model &model);

struct InferenceOptions {
  bool training = false;               // as in a training step: dropout draws
  std::vector<std::string> gradients;  // inputs and weights by name; an input goes before a weight of the same name
  bool cotangents = false;             // gradients of the outputs times these, not of their sum
};

// What a session runs: the outputs of a model, then the gradients asked for.
struct Inference {
  ops::Program program;                   // one state per weight, and `draws` if `counts`
  bool counts = false;                    // the last state, an int64, must be the number of the run
  std::vector<std::string> output_names;  // of all outputs; "gradient of x"
  std::vector<bool> masked;               // by output of the model: does it carry a mask?
  // Cotangents stand behind the model's inputs, one for each of these outputs, which are the float32 ones.
  std::vector<size_t> cotangent_of;
};

// Refuses names that are unknown or stand twice, inputs that are not float32, a model without float32 outputs, and ops
// on the way that have no gradient; and weights that must be given first. What no output depends on has a gradient of
// zeros.
Inference inference(const Model &model, const InferenceOptions &options = {});

}  // namespace dl4::graph
