// In which order a model's calls run.
#pragma once

#include <vector>

#include "graph/model.hpp"

namespace dl4::graph {

// The calls that a model needs, each behind those it reads: as they were made, or by their depth where that shows,
// because a layer of several calls writes weights or a call takes the masks off its inputs.
std::vector<CallId> run_order(const Model &model);

}  // namespace dl4::graph
