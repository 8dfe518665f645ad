// A graph as layers take it: nodes, and edges by the numbers of two nodes.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

struct Edges {
  ops::Id source, target;  // (..., E) int64; target -1: no edge
};

// Of input 0, nodes (N, F) or (B, N, F), and input 1, edges (E, 2) or (B, E, 2), of which count those that the argument
// "edge_mask", or else their own mask, leaves. With self loops N more.
Edges read_edges(Call &c, bool self_loops);
// Refuses features of edges, input i, that are not one row an edge.
void need_edge_features(Call &c, int i);

}  // namespace dl4::kinds
