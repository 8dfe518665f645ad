// Graphs as layers' inputs: nodes, and edges as pairs of node indices. GraphAttention: each node attends over its
// neighbours. GraphNetwork: updates edges, then nodes, then global features, each from the ones before. SegmentSum,
// SegmentMax: reduce rows by segment id; SegmentGather: the reverse.
#include "kinds/layers/core/quantization.hpp"
#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none;

struct Edges {
  ops::Id source, target;  // (..., E) int64; target -1: absent
};

// Edges of input 1, (E, 2) or (B, E, 2), between nodes of input 0, (N, F) or (B, N, F). The argument "edge_mask", or
// else their own mask, removes edges. Self loops add N edges.
// Requires input i to have one row of features per edge.

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
    f("units", units, "size of each head's output").required("4").within(1, max_dim);
    f("heads", heads, "number of heads").within(1, max_dim);
    f("join", join, {"concat", "average"}, "how the heads' outputs become one");
    f("activation", activation, "applied to the sum");
    f("negative_slope", negative_slope, "of the leaky ReLU of the scores").at_least(0);
    f("self_loops", self_loops, "whether every node has an edge to itself beside those given");
    f("use_gate", use_gate,
      "multiplies each head by a gate made of the node, the largest projected and the mean features of its "
      "sources (GaAN, Zhang et al. 2018)");
    f("dropout", dropout, "fraction of the attention weights to drop in training").within(0, 1);
    f("seed", seed, "seed of the dropout; null = from the context's");
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
    f("edge_units", edge_units, "size of an edge's new features").required("3").within(1, max_dim);
    f("node_units", node_units, "size of a node's new features").required("2").within(1, max_dim);
    f("global_units", global_units,
      "size of the graph's new features, whose old ones are the last input; null = it has none")
        .within(1, max_dim);
    f("distances", distances, "whether edges see the squared distance of their nodes, by an input of places");
    f("activation", activation, "applied to each of the three");
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

template <class T>
struct Segments : LayerOf<Segments<T>> {
  std::optional<int64_t> num_segments;

  void fields(Fields &f) override {
    f("num_segments", num_segments, "number of segments; null = as many as the third input has rows")
        .within(0, max_dim);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"data", "(E, ...) or (B, E, ...)"},
                 {"segment_ids", "(E) or (B, E): each row's segment; a negative one has none"},
                 {"rows", "(num_segments, ...) or (B, num_segments, ...), of which only the shape counts"}},
      .outputs = {{"y", "(num_segments, ...) or (B, num_segments, ...)"}}};
  Arity arity() const override { return {2, 3}; }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    c.need_float(0);
    c.need_rank_from(1, 1);
    const int rank = c.shape(1).rank();
    if (rank > 2) fail(Code::shape_mismatch, "segment_ids: expected shape (E) or (B, E), got ", c.shape(1));
    if (e.dtype(c.x(1)) == DType::boolean) fail(Code::invalid_argument, "segment_ids: expected numbers, got bool");
    if (num_segments.has_value() == (c.in.size() == 3))
      fail(Code::invalid_argument, "\"num_segments\": expected either a number or a third input, got ",
           num_segments ? "both" : "neither");
    ops::Id like = num_segments ? ops::fill(e, DType::f32, 0, c.x(1), rank - 1, {*num_segments}) : c.x(2);
    return {{T::emit(e, c.x(0), c.x(1), like)}};
  }
};

struct SegmentSum : Segments<SegmentSum> {
  static constexpr const char *keras = "math.SegmentSum";
  static constexpr const char *doc = "The sum of each segment's rows, 0 of none: keras.ops.segment_sum.";
  static constexpr auto emit = ops::segment_sum;
};
struct SegmentMax : Segments<SegmentMax> {
  static constexpr const char *keras = "math.SegmentMax";
  static constexpr const char *doc =
      "The largest of each segment's rows, the lowest float of none: keras.ops.segment_max.";
  static constexpr auto emit = ops::segment_max;
};

struct SegmentGather final : LayerOf<SegmentGather> {
  static constexpr const char *doc =
      "For each id, the row of that segment; 0 for a negative id. An id past the last row is an error.";

  static constexpr PlainFacts plain{
      .inputs = {{"rows", "(V, ...) or (B, V, ...)"}, {"segment_ids", "(E) or (B, E), integers"}},
      .outputs = {{"y", "(E, ...) or (B, E, ...)"}}};
  Arity arity() const override { return {2, 2}; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    c.need_rank_from(1, 1);
    if (c.shape(1).rank() > 2)
      fail(Code::shape_mismatch, "segment_ids: expected shape (E) or (B, E), got ", c.shape(1));
    if (c.e.dtype(c.x(1)) == DType::boolean) fail(Code::invalid_argument, "segment_ids: expected numbers, got bool");
    c.need_rank_from(0, c.shape(1).rank());
    return {{ops::segment_gather(c.e, c.x(0), c.x(1))}};
  }
};

}  // namespace

DL4_KINDS(graph_layers, GraphAttention, GraphNetwork, SegmentSum, SegmentMax, SegmentGather)

}  // namespace dl4::kinds
