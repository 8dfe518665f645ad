// From a model to a Program with free dims.
#pragma once

#include <vector>

#include "graph/model.hpp"
#include "ops/emit.hpp"

namespace dl4::graph {

struct Lowered {
  std::vector<kinds::Symbol> outputs;
  std::vector<ops::Id> penalties;  // scalars that layers added to the loss
};

// Emits the model's calls. `weights`: the value of each of the model's weights, in its order; `draws`: the counter of
// random draws, or none in inference; inputs are made by this function and named as the model's.
Lowered lower(ops::Emit &e, const Model &model, const std::vector<ops::Id> &weights, ops::Id draws, bool training);

// The whole inference Program: one state per weight, one output per output.
ops::Program inference_program(const Model &model);

}  // namespace dl4::graph
