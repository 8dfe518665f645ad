// The counter of random draws of graphs that assign weights.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::graph {

bool is_draws(const kinds::Layer &kind);

}  // namespace dl4::graph
