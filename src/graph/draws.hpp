// Where a graph that assigns weights keeps the number of its random draws.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::graph {

bool is_draws(const kinds::Layer &kind);

}  // namespace dl4::graph
