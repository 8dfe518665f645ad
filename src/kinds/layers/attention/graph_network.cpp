// GraphNetwork: updates edges, then nodes, then global features, each from the ones before.
#include "kinds/layers/attention/graph_edges.hpp"
#include "kinds/layers/core/weights.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;
using ops::none;

struct GraphNetwork : LayerOf<GraphNetwork> {
  static constexpr const char *doc =
      "A block of a graph network (Battaglia et al. 2018). Edges: activation(W [features, squared distance, source, "
      "target, global] + b); nodes: of [the sum of the edges that end there, node, global]; global: of [the sum of all "
      "edges, the sum of all nodes, global]. What is not given is left out. Not a layer of Keras.";
  int64_t edge_units = 0, node_units = 0;
  std::optional<int64_t> global_units;
  bool distances = false;
  Activation activation = Activation::parse("relu");
  KernelAndBias weights;

  void fields(Fields &f) override {
    f("edge_units", edge_units).required("3").at_least(1).at_most(max_dim).doc("size of an edge's new features");
    f("node_units", node_units).required("2").at_least(1).at_most(max_dim).doc("size of a node's new features");
    f("global_units", global_units)
        .at_least(1)
        .at_most(max_dim)
        .doc("size of the graph's new features, whose old ones are the last input; null = it has none");
    f("distances", distances).doc("whether edges see the squared distance of their nodes, by an input of places");
    f("activation", activation).doc("applied to each of the three");
    weights.fields(f);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"nodes", "(N, F) or (B, N, F)"},
                 {"edges", "(E, 2) or (B, E, 2), source and target by number; -1 = no edge"},
                 {"edge_features", "(E, G) or (B, E, G), optional"},
                 {"places", "(N, P) or (B, N, P)", "distances"},
                 {"global", "(U) or (B, U)", "global_units"}},
      .outputs = {{"nodes", "(..., N, node_units)"},
                  {"edges", "(..., E, edge_units), 0 where there is none"},
                  {"global", "(..., global_units)", "global_units"}},
      .weights = {{"edge_kernel", "(sum of the sizes, edge_units)"},
                  {"edge_bias", "(edge_units)", "use_bias"},
                  {"node_kernel", "(sum of the sizes, node_units)"},
                  {"node_bias", "(node_units)", "use_bias"},
                  {"global_kernel", "(sum of the sizes, global_units)", "global_units"},
                  {"global_bias", "(global_units)", "global_units"}},
      .arguments = {{"edge_mask", "tensor", "(..., E) bool: which edges are there; by default what they carry"}},
      .mask = "the edges' is used; the nodes' is passed on"};
  Arity arity() const override { return {2, 5}; }

  std::vector<Symbol> call(Call &c) const override {
    Emit &e = c.e;
    const Edges edges = read_edges(c, false);
    const int rank = c.shape(0).rank();
    const auto inputs = static_cast<int>(c.in.size());
    const int rest = (distances ? 1 : 0) + (global_units ? 1 : 0);
    if (inputs != 2 + rest && inputs != 3 + rest)
      fail(Code::invalid_argument, "expected ", 2 + rest, " or ", 3 + rest, " inputs, got ", inputs);
    const bool features = inputs == 3 + rest;
    Id global = none;
    if (global_units) {
      c.need_float(inputs - 1);
      c.need_rank(inputs - 1, rank - 1);
      global = ops::expand_dims(e, c.x(inputs - 1), rank - 2);  // (..., 1, U)
    }
    std::vector<Id> of_edge;
    if (features) {
      need_edge_features(c, 2);
      of_edge.push_back(c.x(2));
    }
    if (distances) of_edge.push_back(squared(c, edges, features ? 3 : 2));
    of_edge.push_back(ops::segment_gather(e, c.x(), edges.source));
    of_edge.push_back(ops::segment_gather(e, c.x(), edges.target));
    Id new_edges = updated(c, "edge", of_edge, global, edge_units);
    Id there = ops::binary(e, ops::Binary::greater, edges.target, e.scalar(-1, DType::i64));
    new_edges = ops::select(e, ops::expand_dims(e, there, -1), new_edges, e.scalar(0));

    Id ending = ops::segment_sum(e, new_edges, edges.target, c.x());
    Id new_nodes = updated(c, "node", {ending, c.x()}, global, node_units);
    std::vector<Symbol> out{{new_nodes, c.in[0].mask}, {new_edges, c.in[1].mask}};
    if (!global_units) return out;
    auto total = [&](Id x) { return ops::reduce(e, ops::Reduce::sum, x, {-2}, true); };
    Id new_global = updated(c, "global", {total(new_edges), total(new_nodes)}, global, *global_units);
    out.push_back({ops::squeeze(e, new_global, rank - 2)});
    return out;
  }

 private:
  // Squared distance of each edge's nodes.
  static Id squared(Call &c, const Edges &edges, int i) {
    Emit &e = c.e;
    const int rank = c.shape(0).rank();
    c.need_float(i);
    c.need_rank(i, rank);
    if (!compatible(c.shape(i).first(rank - 1), c.shape(0).first(rank - 1)))
      fail(Code::shape_mismatch, "places: expected those of nodes of shape ", c.shape(0), ", got ", c.shape(i));
    Id far = ops::sub(e, ops::segment_gather(e, c.x(i), edges.source), ops::segment_gather(e, c.x(i), edges.target));
    return ops::reduce(e, ops::Reduce::sum_squares, far, {-1}, true);
  }

  // activation(W [parts, global] + b); the global part is one row shared by all.
  Id updated(Call &c, const char *what, const std::vector<Id> &parts, Id global, int64_t units) const {
    Emit &e = c.e;
    Id x = parts.size() == 1 ? parts[0] : ops::concat(e, parts, -1);
    auto size_of = [&](Id v) {
      const int64_t n = e.shape(v).last();
      if (n == free_dim) fail(Code::shape_mismatch, "expected known numbers of features, got shape ", e.shape(v));
      return n;
    };
    const int64_t own = size_of(x), of_global = global == none ? 0 : size_of(global);
    Id w = c.weight(text(what, "_kernel").c_str(), {checked_add(own, of_global), units}, weights.kernel_initializer,
                    weights.kernel_regularizer, weights.kernel_constraint);
    Id b = none;
    if (weights.use_bias)
      b = c.weight(text(what, "_bias").c_str(), {units}, weights.bias_initializer, weights.bias_regularizer,
                   weights.bias_constraint);
    Id y = none;
    if (global == none) {
      y = ops::matmul(e, x, w, {}, b);
    } else {
      y = ops::add(e, ops::matmul(e, x, ops::slice(e, w, 0, 0, own), {}, b),
                   ops::matmul(e, global, ops::slice(e, w, 0, own, of_global)));
    }
    y = activation(e, y);
    c.penalize(weights.activity_regularizer, y);
    return y;
  }
};

}  // namespace
DL4_KINDS(graph_network, GraphNetwork)
}  // namespace dl4::kinds
