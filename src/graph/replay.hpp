// The calls of a model once more, on other symbols than those that its graph has.
#pragma once

#include <functional>
#include <vector>

#include "graph/model.hpp"

namespace dl4::graph {

// Gives the outputs of one call.
using RunCall = std::function<std::vector<kinds::Symbol>(const Layer &, const Call &, std::vector<kinds::Symbol> in,
                                                         const kinds::Arguments &)>;

// The model's outputs for `in`, one symbol for each of its inputs. `order`: the calls it needs, each behind those it
// reads.
std::vector<kinds::Symbol> replay(ops::Emit &e, const Model &model, const std::vector<CallId> &order,
                                  const std::vector<kinds::Symbol> &in, const RunCall &run);

}  // namespace dl4::graph
