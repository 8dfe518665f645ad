// GraphAttention: each node attends over its neighbours.
#include "kinds/layers/attention/graph_edges.hpp"
#include "kinds/layers/core/weights.hpp"
#include "kinds/layers/random/dropping.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;
using ops::none;

struct GraphAttention : LayerOf<GraphAttention> {
  static constexpr const char *doc =
      "Attention over a graph by its edges (GAT, Velickovic et al. 2018): of the edges (source, target) that end at a "
      "node, softmax(leaky_relu(a source + b target)) weighs the projected features of the sources. A node at which no "
      "edge ends gives 0 before the bias. Not a layer of Keras.";
  int64_t units = 0, heads = 1;
  enum class Join { concat, average } join = Join::concat;
  Activation activation;
  double negative_slope = 0.2, dropout = 0;
  bool self_loops = false, use_gate = false;
  std::optional<int64_t> seed;
  KernelAndBias weights;

  void fields(Fields &f) override {
    f("units", units).required("4").at_least(1).at_most(max_dim).doc("size of each head's output");
    f("heads", heads).at_least(1).at_most(max_dim).doc("number of heads");
    f("join", join, {"concat", "average"}).doc("how the heads' outputs become one");
    f("activation", activation).doc("applied to the sum");
    f("negative_slope", negative_slope).at_least(0).doc("of the leaky ReLU of the scores");
    f("self_loops", self_loops).doc("whether every node has an edge to itself beside those given");
    f("use_gate", use_gate)
        .doc(
            "multiplies each head by a gate made of the node, the largest projected and the mean features of its "
            "sources (GaAN, Zhang et al. 2018)");
    f("dropout", dropout).at_least(0).at_most(1).doc("fraction of the attention weights to drop in training");
    f("seed", seed).doc("seed of the dropout; null = from the context's");
    weights.fields(f);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"nodes", "(N, F) or (B, N, F)"},
                 {"edges", "(E, 2) or (B, E, 2), source and target by number; -1 = no edge"},
                 {"edge_features", "(E, G) or (B, E, G), optional"}},
      .outputs = {{"y", "(..., N, heads * units), with join=average (..., N, units)"},
                  {"scores", "(..., E, heads), with self_loops (..., E + N, heads)", "return_attention_scores"}},
      .weights = {{"kernel", "(F, heads, units)"},
                  {"source_attention", "(heads, units)"},
                  {"target_attention", "(heads, units)"},
                  {"edge_attention", "(G, heads), with edge features"},
                  {"gate_pool_kernel", "(F, units)", "use_gate"},
                  {"gate_kernel", "(2 F + units, heads)", "use_gate"},
                  {"gate_bias", "(heads)", "use_gate"},
                  {"bias", "(heads * units), with join=average (units)", "use_bias"}},
      .arguments = {{"edge_mask", "tensor", "(..., E) bool: which edges are there; by default what they carry"},
                    {"return_attention_scores", "bool", "whether the weights, before dropout, are an output too"}},
      .mask = "the edges' is used; the nodes' is passed on"};
  Arity arity() const override { return {2, 3}; }

  std::vector<Symbol> call(Call &c) const override {
    Emit &e = c.e;
    const Edges edges = read_edges(c, self_loops);
    const int rank = c.shape().rank();
    const int64_t features = c.last_dim();
    Id w = c.weight("kernel", {features, heads, units}, weights.kernel_initializer, weights.kernel_regularizer,
                    weights.kernel_constraint);
    Id flat = ops::matmul(e, c.x(), ops::reshape(e, w, 0, {features, checked_mul(heads, units)}));
    Id h = ops::reshape(e, flat, rank - 1, {heads, units});
    auto score_of = [&](const char *which, Id ids) {
      Id a = c.weight(which, {heads, units}, weights.kernel_initializer);
      return ops::segment_gather(e, ops::reduce(e, ops::Reduce::sum, ops::mul(e, h, a), {-1}), ids);
    };
    Id from = score_of("source_attention", edges.source);
    Id score = ops::add(e, from, score_of("target_attention", edges.target));
    if (c.in.size() == 3) score = ops::add(e, score, of_edges(c));
    score = ops::unary(e, ops::Unary::leaky_relu, score, {static_cast<float>(negative_slope)});
    Id alpha = ops::segment_softmax(e, score, edges.target, c.x());
    Id messages =
        ops::mul(e, ops::segment_gather(e, h, edges.source), ops::expand_dims(e, dropped(c, alpha, dropout, seed), -1));
    Id y = ops::segment_sum(e, messages, edges.target, c.x());
    if (use_gate) y = ops::mul(e, y, ops::expand_dims(e, gate(c, edges), -1));
    y = join == Join::concat ? ops::reshape(e, y, rank - 1, {heads * units})
                             : ops::reduce(e, ops::Reduce::mean, y, {-2});
    if (Id b = weights.bias(c, join == Join::concat ? heads * units : units); b != none) y = ops::add(e, y, b);
    y = activation(e, y);
    c.penalize(weights.activity_regularizer, y);
    std::vector<Symbol> outputs{{y, c.in[0].mask}};
    if (c.flag("return_attention_scores", false)) outputs.push_back({alpha});
    return outputs;
  }

 private:
  // Score terms from edge features; 0 for self loops.
  Id of_edges(Call &c) const {
    Emit &e = c.e;
    const int rank = c.shape(0).rank();
    need_edge_features(c, 2);
    Id score = ops::matmul(e, c.x(2), c.weight("edge_attention", {c.last_dim(2), heads}, weights.kernel_initializer));
    if (!self_loops) return score;
    return ops::concat(e, {score, ops::fill(e, DType::f32, 0, c.x(), rank - 1, {heads})}, -2);
  }

  // (..., N, heads).
  Id gate(Call &c, const Edges &edges) const {
    Emit &e = c.e;
    const int64_t features = c.last_dim();
    auto summed = [&](Id x) { return ops::segment_sum(e, x, edges.target, c.x()); };
    Id count = summed(ops::fill(e, DType::f32, 1, edges.source, e.rank(edges.source), {}));
    count = ops::expand_dims(e, count, -1);
    Id pool = c.weight("gate_pool_kernel", {features, units}, weights.kernel_initializer);
    Id largest =
        ops::segment_max(e, ops::segment_gather(e, ops::matmul(e, c.x(), pool), edges.source), edges.target, c.x());
    largest = ops::select(e, ops::binary(e, ops::Binary::greater, count, e.scalar(0)), largest, e.scalar(0));
    Id mean = ops::div(e, summed(ops::segment_gather(e, c.x(), edges.source)),
                       ops::binary(e, ops::Binary::max, count, e.scalar(1)));
    Id kernel = c.weight("gate_kernel", {checked_add(features, features, units), heads}, weights.kernel_initializer);
    Id bias = c.weight("gate_bias", {heads}, weights.bias_initializer);
    Id all = ops::concat(e, {c.x(), largest, mean}, -1);
    return ops::unary(e, ops::Unary::sigmoid, ops::matmul(e, all, kernel, {}, bias));
  }
};

}  // namespace
DL4_KINDS(graph_attention, GraphAttention)
}  // namespace dl4::kinds
