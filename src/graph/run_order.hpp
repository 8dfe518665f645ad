// The order in which a model's calls run.
#pragma once

#include <vector>

#include "graph/model.hpp"

namespace dl4::graph {

// The calls that a model needs, topologically sorted: in order of creation, or by depth if the difference is
// observable, because a layer with several calls writes weights or a call removes masks from its inputs.
std::vector<CallId> run_order(const Model &model);

}  // namespace dl4::graph
