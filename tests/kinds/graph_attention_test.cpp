// GraphAttention, SegmentSum and SegmentMax: formulas in double, other forms of the same, corner cases, refusals.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

struct Gat {
  int64_t batch, nodes, features, edges, heads, units;
  bool average = false, loops = false, gate = false, with_features = false;
};

// (source, target, its number or -1) of the edges that end at a node.
struct Edge {
  int64_t source, number;
};
std::vector<Edge> edges_to(const Array &list, const Gat &g, int64_t b, int64_t node) {
  std::vector<Edge> found;
  for (int64_t i = 0; i < g.edges; ++i) {
    const auto source = static_cast<int64_t>(list[(b * g.edges + i) * 2]);
    const auto target = static_cast<int64_t>(list[(b * g.edges + i) * 2 + 1]);
    if (source >= 0 && target == node) found.push_back({source, i});
  }
  if (g.loops) found.push_back({node, -1});
  return found;
}

// in: nodes (B, N, F), edges (B, E, 2), perhaps their features (B, E, 2), then the weights.
struct Naive {
  const std::vector<Array> &in;
  const Gat &g;
  size_t first = g.with_features ? 3 : 2;

  const Array &weight(size_t i) const { return in[first + i]; }
  double x(int64_t b, int64_t node, int64_t f) const { return in[0][(b * g.nodes + node) * g.features + f]; }
  double h(int64_t b, int64_t node, int64_t head, int64_t u) const {
    double sum = 0;
    for (int64_t f = 0; f < g.features; ++f) sum += x(b, node, f) * weight(0)[(f * g.heads + head) * g.units + u];
    return sum;
  }
  double score(int64_t b, const Edge &e, int64_t target, int64_t head) const {
    double s = 0;
    for (int64_t u = 0; u < g.units; ++u)
      s += weight(1)[head * g.units + u] * h(b, e.source, head, u) +
           weight(2)[head * g.units + u] * h(b, target, head, u);
    for (int64_t f = 0; g.with_features && e.number >= 0 && f < 2; ++f)
      s += in[2][(b * g.edges + e.number) * 2 + f] * weight(3)[f * g.heads + head];
    return s > 0 ? s : 0.2 * s;
  }
  double gate(int64_t b, int64_t node, const std::vector<Edge> &edges, int64_t head) const {
    const size_t at = g.with_features ? 4 : 3;
    const Array &pool = weight(at), &kernel = weight(at + 1);
    std::vector<double> all;
    for (int64_t f = 0; f < g.features; ++f) all.push_back(x(b, node, f));
    for (int64_t u = 0; u < g.units; ++u) {
      double most = edges.empty() ? 0 : -INFINITY;
      for (const Edge &e : edges) {
        double v = 0;
        for (int64_t f = 0; f < g.features; ++f) v += x(b, e.source, f) * pool[f * g.units + u];
        most = std::max(most, v);
      }
      all.push_back(most);
    }
    for (int64_t f = 0; f < g.features; ++f) {
      double sum = 0;
      for (const Edge &e : edges) sum += x(b, e.source, f);
      all.push_back(edges.empty() ? 0 : sum / static_cast<double>(edges.size()));
    }
    double z = weight(at + 2)[head];
    for (size_t i = 0; i < all.size(); ++i) z += all[i] * kernel[static_cast<int64_t>(i) * g.heads + head];
    return 1 / (1 + std::exp(-z));
  }
};

std::vector<Array> naive_gat(const std::vector<Array> &in, const Gat &g) {
  const Naive n{in, g};
  const int64_t width = g.average ? g.units : g.heads * g.units;
  Array y = zeros({g.batch, g.nodes, width});
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t node = 0; node < g.nodes; ++node) {
      double *row = &y.v[static_cast<size_t>((b * g.nodes + node) * width)];
      const auto edges = edges_to(in[1], g, b, node);
      for (int64_t head = 0; head < g.heads; ++head) {
        double sum = 0;
        std::vector<double> w;
        for (const Edge &e : edges) sum += w.emplace_back(std::exp(n.score(b, e, node, head)));
        const double by = g.gate ? n.gate(b, node, edges, head) : 1;
        for (size_t i = 0; i < edges.size(); ++i)
          for (int64_t u = 0; u < g.units; ++u)
            row[g.average ? u : head * g.units + u] +=
                w[i] / sum * n.h(b, edges[i].source, head, u) * by / static_cast<double>(g.average ? g.heads : 1);
      }
      for (int64_t j = 0; j < width; ++j) row[j] += in.back()[j];
    }
  return {y};
}

Tensor random_edges(const Gat &g, bool batched = true) {
  // Some of them padding; the last node has none.
  Tensor t = random(batched ? Shape{g.batch, g.edges, 2} : Shape{g.edges, 2}, 7, -0.9,
                    static_cast<double>(g.nodes) - 1.01, DType::i32);
  return t;
}

Json config_of(const Gat &g) {
  return {{"units", g.units},
          {"heads", g.heads},
          {"join", g.average ? "average" : "concat"},
          {"self_loops", g.loops},
          {"use_gate", g.gate}};
}

std::vector<Tensor> weights_of(const Gat &g) {
  std::vector<Shape> s{{g.features, g.heads, g.units}, {g.heads, g.units}, {g.heads, g.units}};
  if (g.with_features) s.push_back({2, g.heads});
  if (g.gate)
    for (const Shape &w : {Shape{g.features, g.units}, Shape{2 * g.features + g.units, g.heads}, Shape{g.heads}})
      s.push_back(w);
  s.push_back({g.average ? g.units : g.heads * g.units});
  return randoms(s);
}

void check_gat(const Gat &g) {
  SCOPED_TRACE(text(config_of(g).shown(), g.with_features));
  std::vector<Tensor> in{random({g.batch, g.nodes, g.features}, 3), random_edges(g)};
  if (g.with_features) in.push_back(random({g.batch, g.edges, 2}, 4));
  const auto weights = weights_of(g);
  in.insert(in.end(), weights.begin(), weights.end());
  Case c =
      layer_case("GraphAttention", config_of(g), in, weights.size(), [=](const auto &x) { return naive_gat(x, g); });
  check(c);
}

TEST(GraphAttention, Formula) {
  check_gat({1, 5, 3, 9, 1, 2});
  check_gat({2, 5, 3, 9, 2, 2});
  check_gat({2, 4, 3, 7, 3, 2, true});
  check_gat({2, 4, 3, 7, 2, 2, false, true});
  check_gat({2, 4, 3, 7, 2, 2, false, false, false, true});
  check_gat({1, 4, 3, 7, 2, 2, true, true, false, true});
  check_gat({2, 4, 3, 7, 2, 2, false, false, true});
  check_gat({1, 4, 3, 0, 2, 2, false, false, true});
  check_gat({1, 4, 3, 8, 2, 2, true, true, true, true});
}

// One sample: nodes (N, F), edges (E, 2), with random weights.
Tensor attend(const Gat &g, const Tensor &nodes, const Tensor &edges, const Arguments &arguments = {},
              const std::vector<Tensor> &more = {}) {
  auto layer = std::static_pointer_cast<const kinds::Layer>(kinds::find("layer", "GraphAttention").make(config_of(g)));
  std::vector<Tensor> in{nodes, edges};
  in.insert(in.end(), more.begin(), more.end());
  const auto weights = weights_of(g);
  in.insert(in.end(), weights.begin(), weights.end());
  auto build = [&](Emit &e, const std::vector<Id> &v) {
    GivenWeights host({v.end() - static_cast<std::ptrdiff_t>(weights.size()), v.end()}, e);
    Arguments all = arguments;
    if (!more.empty()) all.symbols["edge_mask"] = {Symbol{v[2], ops::none}};
    kinds::Call call(e, host, {{v[0], ops::none}, {v[1], ops::none}}, all, false);
    return std::vector<Id>{layer->call(call).back().value};
  };
  return evaluate(program_of(build, in), in).outputs[0];
}

TEST(GraphAttention, EquivariantUnderPermutation) {
  const Gat g{1, 6, 3, 12, 2, 2, false, true, true};
  const Tensor nodes = random({6, 3}, 1), edges = random_edges(g, false);
  const std::vector<int64_t> to{3, 0, 5, 1, 4, 2};  // node i becomes to[i]; the edges come in another order
  Tensor moved = make_tensor(DType::f32, {6, 3}), other = make_tensor(DType::i32, {12, 2});
  for (int64_t i = 0; i < 6; ++i)
    std::copy_n(nodes.as<float>() + i * 3, 3, moved.as<float>() + to[static_cast<size_t>(i)] * 3);
  for (int64_t i = 0; i < 24; ++i) {
    const int32_t id = edges.as<int32_t>()[i];
    other.as<int32_t>()[(i + 10) % 24] = id < 0 ? id : static_cast<int32_t>(to[static_cast<size_t>(id)]);
  }
  const Tensor y = attend(g, nodes, edges), z = attend(g, moved, other);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 4; ++j) EXPECT_NEAR(at(y, {i, j}), at(z, {to[static_cast<size_t>(i)], j}), 1e-5);
}

TEST(GraphAttention, PaddingMasksAndNodesWithoutEdges) {
  const Gat g{1, 4, 3, 3, 2, 2};
  const Tensor nodes = random({4, 3}, 1);
  const Tensor padded = tensor<int32_t>({5, 2}, {0, 1, -1, 1, 2, 1, 3, -1, 1, 0});
  const Tensor y = attend(g, nodes, padded), z = attend(g, nodes, tensor<int32_t>({3, 2}, {0, 1, 2, 1, 1, 0}));
  expect_close(y, z, 1e-6, "padding");
  const Tensor bias = weights_of(g).back();
  for (int64_t node : {2, 3})
    for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(at(y, {node, j}), at(bias, {j}));
  const Tensor all = tensor<int64_t>({4, 2}, {0, 1, 3, 0, 2, 1, 1, 0});
  expect_close(attend(g, nodes, all, {}, {tensor<bool>({4}, {true, false, true, true})}), z, 1e-6, "mask");
  const Tensor w = attend(g, nodes, padded, with_flag("return_attention_scores"));
  EXPECT_EQ(w.shape, (Shape{5, 2}));
  for (int64_t h = 0; h < 2; ++h) {
    EXPECT_NEAR(at(w, {0, h}) + at(w, {2, h}), 1, 1e-6);
    EXPECT_EQ(at(w, {1, h}), 0);
    EXPECT_EQ(at(w, {3, h}), 0);
    EXPECT_EQ(at(w, {4, h}), 1);
  }
}

// The scores of all pairs, those without an edge masked, as GAT is composed of other parts.
TEST(GraphAttention, EqualsTheFormOverADenseMask) {
  const Gat g{1, 5, 3, 10, 1, 2};
  const Tensor nodes = random({5, 3}, 1), edges = random_edges(g, false);
  Tensor linked = naive(DType::boolean, {5, 5}, [](const auto &) { return 0; });
  Tensor once = make_tensor(DType::i32, {10, 2});  // a mask knows no edge twice
  for (int64_t i = 0; i < 10; ++i) {
    const int32_t source = edges.as<int32_t>()[2 * i], target = edges.as<int32_t>()[2 * i + 1];
    uint8_t nothing = 1, &seen = source < 0 || target < 0 ? nothing : linked.as<uint8_t>()[target * 5 + source];
    once.as<int32_t>()[2 * i] = seen ? -1 : source;
    once.as<int32_t>()[2 * i + 1] = target;
    seen = 1;
  }
  std::vector<Tensor> in{nodes, linked};
  for (const Tensor &w : weights_of(g)) in.push_back(w);
  auto dense = [](Emit &e, const std::vector<Id> &v) {
    Id h = ops::matmul(e, v[0], ops::reshape(e, v[2], 0, {3, 2}));
    auto part = [&](Id a) { return ops::reduce(e, ops::Reduce::sum, ops::mul(e, h, a), {-1}); };
    Id score = ops::add(e, ops::expand_dims(e, part(v[3]), 0), ops::expand_dims(e, part(v[4]), 1));
    score = ops::select(e, v[1], ops::unary(e, ops::Unary::leaky_relu, score, {0.2f}), e.scalar(-1e9));
    Id w = ops::select(e, v[1], ops::softmax(e, score), e.scalar(0));
    return std::vector<Id>{ops::add(e, ops::matmul(e, w, h), v[5])};
  };
  expect_close(attend(g, nodes, once), evaluate(program_of(dense, in), in).outputs[0], 1e-5, "dense");
}

TEST(GraphAttention, AnEdgeToNoNodeIsAFault) {
  for (const std::vector<int32_t> &edge : {std::vector<int32_t>{4, 0}, {0, 4}}) {
    LayerCall l("GraphAttention", {{"units", 2}});
    auto y = l.call({l.input({4, 3}), l.input({1, 2}, DType::i32)});
    l.program.outputs = {y[0].value};
    std::vector<Tensor> states;
    for (Id id : l.program.states) states.push_back(random(l.program[id].shape, 1));
    const auto r = evaluate(l.program, {random({4, 3}, 1), tensor<int32_t>({1, 2}, edge)}, states);
    EXPECT_EQ(r.fault, kernels::Fault::index_out_of_range);
    EXPECT_EQ(r.value, 4);
  }
}

TEST(GraphAttention, Refuses) {
  const Json config = {{"units", 2}};
  auto refused = [&](const Shape &nodes, const Shape &edges, const std::string &words, const Shape &features = {},
                     DType type = DType::i32, Code code = Code::shape_mismatch) {
    expect_refusal(code, words, [&] {
      LayerCall l("GraphAttention", config);
      std::vector<Symbol> in{l.input(nodes), l.input(edges, type)};
      if (features.rank()) in.push_back(l.input(features));
      l.call(in);
    });
  };
  refused({4, 3, 2, 2}, {4, 2}, "nodes: expected shape (N, F) or (B, N, F)");
  refused({4, 3}, {4, 3}, "edges: expected shape (E, 2) for nodes of shape (4, 3), got (4, 3)");
  refused({2, 4, 3}, {4, 2}, "edges: expected shape (B, E, 2)");
  refused({2, 4, 3}, {3, 4, 2}, "edges: expected shape (B, E, 2)");
  refused({4, 3}, {4, 2}, "edges: expected numbers of nodes, got bool", {}, DType::boolean, Code::invalid_argument);
  refused({4, 3}, {4, 2}, "edge_features: expected those of edges of shape (4, 2), got (5, 2)", {5, 2});
  expect_config_refusal("GraphAttention", {{"units", 0}}, Code::invalid_argument, "\"units\"");
}

// ---- segments ------------------------------------------------------------------------------------------------------

TEST(SegmentLayers, SumAndMax) {
  for (bool sum : {false, true})
    for (bool batched : {false, true}) {
      const char *kind = sum ? "SegmentSum" : "SegmentMax";
      const Shape data = batched ? Shape{2, 3, 1} : Shape{6, 1}, ids = batched ? Shape{2, 3} : Shape{6};
      auto run = [&](const Json &config, bool rows) {
        LayerCall l(kind, config);
        std::vector<Symbol> in{l.input(data), l.input(ids, DType::i32)};
        if (rows) in.push_back(l.input(batched ? Shape{2, 2, 5} : Shape{2, 5}));
        std::vector<Tensor> values{tensor<float>(data, {1, 2, 3, 4, 5, 6}), tensor<int32_t>(ids, {1, 0, 1, 1, 0, -1})};
        if (rows) values.push_back(random(l.shape(in[2]), 1));
        return l.run(l.call(in), values)[0];
      };
      const Tensor y = run({{"num_segments", 2}}, false);
      const std::vector<double> expected = batched
                                               ? sum ? std::vector<double>{2, 4, 5, 4} : std::vector<double>{2, 3, 5, 4}
                                           : sum ? std::vector<double>{7, 8}
                                                 : std::vector<double>{5, 4};
      EXPECT_EQ(values(y), expected) << kind << batched;
      EXPECT_EQ(values(run(Json::object(), true)), expected) << kind << batched;
    }
}

TEST(SegmentLayers, Refuse) {
  auto refused = [](const Json &config, const std::vector<Shape> &shapes, const std::string &words, Code code) {
    expect_refusal(code, words, [&] {
      LayerCall l("SegmentSum", config);
      std::vector<Symbol> in;
      for (size_t i = 0; i < shapes.size(); ++i) in.push_back(l.input(shapes[i], i == 1 ? DType::i32 : DType::f32));
      l.call(in);
    });
  };
  refused(Json::object(), {{6, 1}, {6}}, "\"num_segments\": expected either a number or a third input, got neither",
          Code::invalid_argument);
  refused({{"num_segments", 2}}, {{6, 1}, {6}, {2}}, "got both", Code::invalid_argument);
  refused({{"num_segments", 2}}, {{6, 1}, {5}}, "ids of shape (5,) do not fit (6, 1)", Code::shape_mismatch);
  refused({{"num_segments", 2}}, {{6, 1, 2, 3}, {6, 1, 2}}, "segment_ids: expected shape (E) or (B, E)",
          Code::shape_mismatch);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
