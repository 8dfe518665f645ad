// Checks edge lists and marks absent edges.
#include "kinds/layers/attention/graph_edges.hpp"

#include "ops/ops.hpp"

namespace dl4::kinds {

using ops::Emit;
using ops::Id;
using ops::none;

Edges read_edges(Call &c, bool self_loops) {
  Emit &e = c.e;
  const int rank = c.shape(0).rank();
  c.need_float(0);
  if (rank != 2 && rank != 3) fail(Code::shape_mismatch, "nodes: expected shape (N, F) or (B, N, F), got ", c.shape(0));
  const Shape s = c.shape(1);
  if (s.rank() != rank || s.last() != 2 || !compatible(s.first(rank - 2), c.shape(0).first(rank - 2)))
    fail(Code::shape_mismatch, "edges: expected shape ", rank == 2 ? "(E, 2)" : "(B, E, 2)", " for nodes of shape ",
         c.shape(0), ", got ", s);
  if (e.dtype(c.x(1)) == DType::boolean) fail(Code::invalid_argument, "edges: expected numbers of nodes, got bool");
  Id both = ops::cast(e, c.x(1), DType::i64), nothing = e.scalar(-1, DType::i64);
  auto column = [&](int64_t i) { return ops::squeeze(e, ops::slice(e, both, -1, i, 1), -1); };
  Edges edges{column(0), column(1)};
  Id there = ops::binary(e, ops::Binary::greater, edges.source, nothing);
  auto given = c.symbols("edge_mask");
  if (Id mask = given.empty() ? c.in[1].mask : given[0].value; mask != none) {
    if (!compatible(e.shape(mask), s.first(rank - 1)))
      fail(Code::shape_mismatch, "\"edge_mask\": expected shape ", s.first(rank - 1), ", got ", e.shape(mask));
    there = ops::binary(e, ops::Binary::logical_and, there, ops::cast(e, mask, DType::boolean));
  }
  edges.target = ops::select(e, there, edges.target, nothing);
  if (!self_loops) return edges;
  Id zeros = ops::fill(e, DType::i64, 0, c.x(), rank - 1, {});
  Id self = ops::add(e, zeros, ops::indices(e, c.x(), rank - 2));
  return {ops::concat(e, {edges.source, self}, -1), ops::concat(e, {edges.target, self}, -1)};
}

void need_edge_features(Call &c, int i) {
  const int rank = c.shape(0).rank();
  c.need_float(i);
  c.need_rank(i, rank);
  if (!compatible(c.shape(i).first(rank - 1), c.shape(1).first(rank - 1)))
    fail(Code::shape_mismatch, "edge_features: expected those of edges of shape ", c.shape(1), ", got ", c.shape(i));
}

}  // namespace dl4::kinds
