// GraphNetwork: formulas in double, permutation, refusals.
#include <algorithm>
#include <cmath>

#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using Row = std::vector<double>;

struct Net {
  bool features, distances, global;
  int64_t batch = 2, nodes = 4, edges = 6;
};
constexpr int64_t node_size = 3, feature_size = 2, place_size = 2, global_size = 2, edge_units = 3, node_units = 2,
                  global_units = 4;

Row row_of(const Array &a, int64_t row) {
  const int64_t n = a.shape.last();
  return {a.v.begin() + row * n, a.v.begin() + (row + 1) * n};
}
Row joined(std::initializer_list<Row> parts) {
  Row all;
  for (const Row &p : parts) all.insert(all.end(), p.begin(), p.end());
  return all;
}
Row updated(const Row &x, const Array &w, const Array &b) {
  Row y = b.v;
  EXPECT_EQ(static_cast<int64_t>(x.size()), w.shape[0]);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < y.size(); ++j) y[j] += x[i] * w.v[i * y.size() + j];
  for (double &v : y) v = std::tanh(v);
  return y;
}
void add(Row &sum, const Row &x) {
  for (size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
}

// in: nodes, edges, what else there is, weights.
std::vector<Array> naive_network(const std::vector<Array> &in, const Net &n) {
  const size_t places = n.features ? 3 : 2, global = places + n.distances, w = global + n.global;
  Array nodes = zeros({n.batch, n.nodes, node_units}), edges = zeros({n.batch, n.edges, edge_units}),
        all = zeros({n.batch, global_units});
  for (int64_t b = 0; b < n.batch; ++b) {
    const Row u = n.global ? row_of(in[global], b) : Row();
    std::vector<Row> ending(static_cast<size_t>(n.nodes), Row(edge_units, 0.0));
    Row every(edge_units, 0.0), nodes_sum(node_units, 0.0);
    for (int64_t i = 0; i < n.edges; ++i) {
      const int64_t at = b * n.edges + i;
      const auto s = static_cast<int64_t>(in[1][2 * at]), t = static_cast<int64_t>(in[1][2 * at + 1]);
      if (s < 0 || t < 0) continue;
      Row square;
      if (n.distances) {
        square = {0};
        const Row a = row_of(in[places], b * n.nodes + s), z = row_of(in[places], b * n.nodes + t);
        for (size_t k = 0; k < a.size(); ++k) square[0] += (a[k] - z[k]) * (a[k] - z[k]);
      }
      const Row e = updated(joined({n.features ? row_of(in[2], at) : Row(), square, row_of(in[0], b * n.nodes + s),
                                    row_of(in[0], b * n.nodes + t), u}),
                            in[w], in[w + 1]);
      std::copy(e.begin(), e.end(), edges.v.begin() + at * edge_units);
      add(ending[static_cast<size_t>(t)], e);
      add(every, e);
    }
    for (int64_t i = 0; i < n.nodes; ++i) {
      const Row v =
          updated(joined({ending[static_cast<size_t>(i)], row_of(in[0], b * n.nodes + i), u}), in[w + 2], in[w + 3]);
      std::copy(v.begin(), v.end(), nodes.v.begin() + (b * n.nodes + i) * node_units);
      add(nodes_sum, v);
    }
    if (!n.global) continue;
    const Row g = updated(joined({every, nodes_sum, u}), in[w + 4], in[w + 5]);
    std::copy(g.begin(), g.end(), all.v.begin() + b * global_units);
  }
  if (n.global) return {nodes, edges, all};
  return {nodes, edges};
}

Json config_of(const Net &n) {
  Json config = {{"edge_units", edge_units}, {"node_units", node_units}, {"activation", "tanh"}};
  config["distances"] = n.distances;
  if (n.global) config["global_units"] = global_units;
  return config;
}

std::vector<Shape> weights_of(const Net &n) {
  const int64_t u = n.global ? global_size : 0;
  std::vector<Shape> s{{(n.features ? feature_size : 0) + n.distances + 2 * node_size + u, edge_units},
                       {edge_units},
                       {edge_units + node_size + u, node_units},
                       {node_units}};
  if (n.global) s.push_back({edge_units + node_units + u, global_units}), s.push_back({global_units});
  return s;
}

TEST(GraphNetwork, Formula) {
  for (int options = 0; options < 8; ++options) {
    const Net n{(options & 1) != 0, (options & 2) != 0, (options & 4) != 0};
    SCOPED_TRACE(config_of(n).shown());
    std::vector<Tensor> in{random({n.batch, n.nodes, node_size}, 1, -1, 1),
                           random({n.batch, n.edges, 2}, 2, -0.9, static_cast<double>(n.nodes) - 0.01, DType::i32)};
    if (n.features) in.push_back(random({n.batch, n.edges, feature_size}, 3, -1, 1));
    if (n.distances) in.push_back(random({n.batch, n.nodes, place_size}, 4, -1, 1));
    if (n.global) in.push_back(random({n.batch, global_size}, 5, -1, 1));
    const auto weights = randoms(weights_of(n));
    in.insert(in.end(), weights.begin(), weights.end());
    check(layer_case("GraphNetwork", config_of(n), in, weights.size(),
                     [=](const auto &x) { return naive_network(x, n); }));
  }
}

TEST(GraphNetwork, EquivariantUnderPermutation) {
  const Net n{false, true, true, 1, 4, 5};
  const std::vector<int64_t> to{2, 0, 3, 1};
  const Tensor nodes = random({4, node_size}, 1), places = random({4, place_size}, 2),
               global = random({global_size}, 3);
  const Tensor edges = tensor<int32_t>({5, 2}, {0, 1, 2, 1, 3, 0, 1, 3, 0, 2});
  auto moved = [&](const Tensor &t) {
    Tensor other = make_tensor(DType::f32, t.shape);
    for (int64_t i = 0; i < 4; ++i)
      std::copy_n(t.as<float>() + i * t.shape[1], t.shape[1],
                  other.as<float>() + to[static_cast<size_t>(i)] * t.shape[1]);
    return other;
  };
  Tensor renamed = make_tensor(DType::i32, {5, 2});
  for (int64_t i = 0; i < 10; ++i)
    renamed.as<int32_t>()[i] = static_cast<int32_t>(to[static_cast<size_t>(edges.as<int32_t>()[i])]);
  auto run = [&](std::vector<Tensor> in) {
    for (const Tensor &w : randoms(weights_of(n))) in.push_back(w);
    Case c = layer_case("GraphNetwork", config_of(n), in, weights_of(n).size(), nullptr);
    return evaluate(program_of(c.build, in), in).outputs;
  };
  const auto a = run({nodes, edges, places, global}), b = run({moved(nodes), renamed, moved(places), global});
  expect_close(b[0], moved(a[0]), 1e-5, "nodes");
  expect_close(b[1], a[1], 1e-5, "edges");
  expect_close(b[2], a[2], 1e-5, "global");
}

TEST(GraphNetwork, Refuses) {
  auto refused = [](Json config, const std::vector<Shape> &shapes, const std::string &words, Code code) {
    config["edge_units"] = 2;
    config["node_units"] = 3;
    expect_refusal(code, words, [&] {
      LayerCall l("GraphNetwork", config);
      std::vector<Symbol> in;
      for (size_t i = 0; i < shapes.size(); ++i) in.push_back(l.input(shapes[i], i == 1 ? DType::i32 : DType::f32));
      l.call(in);
    });
  };
  refused({{"distances", true}}, {{4, 3}, {5, 2}}, "expected 3 or 4 inputs, got 2", Code::invalid_argument);
  refused({{"distances", true}}, {{4, 3}, {5, 2}, {3, 2}}, "places: expected those of nodes", Code::shape_mismatch);
  refused(Json::object(), {{4, 3}, {5, 2}, {4, 2}}, "edge_features: expected those of edges", Code::shape_mismatch);
  refused({{"global_units", 2}}, {{4, 3}, {5, 2}, {1, 2}}, "expected ndim=1, found ndim=2", Code::shape_mismatch);
  refused(Json::object(), {{4, 3}, {5, 3}}, "edges: expected shape (E, 2)", Code::shape_mismatch);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
