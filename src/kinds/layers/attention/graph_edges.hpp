// Graphs as layer inputs: nodes, and edges as pairs of node indices.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

struct Edges {
  ops::Id source, target;  // (..., E) int64; target -1: absent
};

// Edges of input 1, (E, 2) or (B, E, 2), between nodes of input 0, (N, F) or (B, N, F). The argument "edge_mask", or
// else their own mask, removes edges. Self loops add N edges.
Edges read_edges(Call &c, bool self_loops);
// Requires input i to have one row of features per edge.
void need_edge_features(Call &c, int i);

}  // namespace dl4::kinds
