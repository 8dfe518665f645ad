// Samples without an axis of the batch: graphs of different sizes and single queries, one a step.
#include <cmath>
#include <nlohmann/json.hpp>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

// A ring of n nodes, 2 features each, and its edges in both directions; the target of a node is the mean of a feature
// of its neighbours.
struct Ring {
  Own<dl4_tensor> nodes, edges, target;
  explicit Ring(int64_t n) {
    const auto values = numbers(static_cast<size_t>(2 * n));
    nodes = tensor({n, 2}, values);
    edges = tensor({2 * n, 2}, {}, DL4_INT32);
    target = tensor({n, 1});
    auto *e = static_cast<int32_t *>(dl4_tensor_data(edges));
    for (int32_t i = 0; i < n; ++i) {
      const auto next = static_cast<int32_t>((i + 1) % n);
      for (const int32_t v : {i, next, next, i}) *e++ = v;
      const auto before = static_cast<size_t>((i + n - 1) % n);
      static_cast<float *>(dl4_tensor_data(target))[i] =
          (values[static_cast<size_t>(2 * next)] + values[2 * before]) / 2;
    }
  }
};

struct Rings {
  std::vector<Ring> all;
  static int32_t next(void *user, int64_t index, dl4_tensor **x, int64_t, dl4_tensor **y, int64_t ny, dl4_tensor **,
                      int64_t) {
    auto &self = *static_cast<Rings *>(user);
    if (index == static_cast<int64_t>(self.all.size())) return DL4_STOP;
    Ring &r = self.all[static_cast<size_t>(index)];
    auto give = [](dl4_tensor *t) { return dl4_retain(t), t; };
    x[0] = give(r.nodes);
    x[1] = give(r.edges);
    if (ny) y[0] = give(r.target);
    return DL4_CONTINUE;
  }
};

Own<dl4_model> graph_net() {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node in[2] = {input(g, "nodes", {-1, 2}), input(g, "edges", {-1, 2}, DL4_INT32)};
  dl4_node y = -1;
  ok(dl4_graph_add(g, "GraphAttention", "gat", R"({"units": 8, "heads": 2})", nullptr, nullptr, in, 2, &y, 1));
  y = add(g, "Dense", "answer", R"({"units": 1})", y);
  ok(dl4_graph_build(g, in, 2, &y, 1, m.out()));
  return m;
}

TEST(Samples, GraphsOfDifferentSizesTrain) {
  Rings rings;
  for (const int64_t n : {4, 7, 3, 12}) rings.all.emplace_back(n);
  auto m = graph_net();
  auto t = trainer(m, R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.02}}, "loss": "mse"})");
  Own<dl4_dataset> d;
  ok(dl4_dataset_from_callback(nullptr, Rings::next, &rings, nullptr, R"({"samples": true})", d.out()));
  Own<dl4_blob> history;
  ok(dl4_trainer_fit(t, d, d, R"({"epochs": 100})", nullptr, nullptr, nullptr, history.out()));
  const json losses = json::parse(dl4_blob_data(history))["loss"];
  EXPECT_LT(losses.back().get<double>(), 0.1 * losses.front().get<double>());

  // The loss of an epoch is that of all nodes.
  double metrics[1] = {}, squares = 0, count = 0;
  ok(dl4_trainer_evaluate(t, d, nullptr, metrics, 1, nullptr));
  for (const Ring &r : rings.all) {
    const auto predicted = run(m, {r.nodes, r.edges})[0], wanted = floats(r.target);
    for (size_t i = 0; i < wanted.size(); ++i) squares += std::pow(predicted[i] - wanted[i], 2), ++count;
  }
  EXPECT_NEAR(metrics[0], squares / count, 1e-6);
  EXPECT_NEAR(json::parse(dl4_blob_data(history))["val_loss"].back().get<double>(), metrics[0], 1e-6);

  // As batches they are refused.
  Own<dl4_dataset> batches;
  ok(dl4_dataset_from_callback(nullptr, Rings::next, &rings, nullptr, nullptr, batches.out()));
  EXPECT_NE(refusal(dl4_trainer_fit(t, batches, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr))
                .message.find("rows as in input 0"),
            std::string::npos);
}

// query (d), x (T, d): a row of tensors with an axis of samples in front.
TEST(Samples, RowsOfTensorsWithoutABatchSize) {
  for (const char *kind : {"Attention", "GlobalAttention"}) {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node in[2] = {input(g, "query", {3}), input(g, "x", {-1, 3})};
    dl4_node y = -1;
    ok(dl4_graph_add(g, kind, "look", nullptr, nullptr, nullptr, in, 2, &y, 1));
    int64_t dims[1] = {};
    int32_t rank = 0;
    ok(dl4_node_shape(g, y, dims, 1, &rank));
    EXPECT_EQ(rank, 1);
    EXPECT_EQ(dims[0], 3);
    ok(dl4_graph_build(g, in, 2, &y, 1, m.out()));

    auto query = tensor({5, 3}, numbers(15)), x = tensor({5, 4, 3}, numbers(60)), target = tensor({5, 3}, numbers(15));
    dl4_tensor *const xs[2] = {query, x}, *const ys[1] = {target};
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_tensors(nullptr, xs, 2, ys, 1, nullptr, 0, R"({"batch_size": null})", d.out()));
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    Own<dl4_tensor> all;
    ok(dl4_session_predict(s, d, nullptr, all.out(), 1));
    EXPECT_EQ(dl4_tensor_rank(all), 2);
    const auto got = floats(all);
    for (int64_t i = 0; i < 5; ++i) {
      const auto q = floats(query), v = floats(x);
      const auto one = run(m, {tensor({3}, {q.begin() + 3 * i, q.begin() + 3 * i + 3}),
                               tensor({4, 3}, {v.begin() + 12 * i, v.begin() + 12 * i + 12})})[0];
      for (int64_t k = 0; k < 3; ++k)
        EXPECT_EQ(got[static_cast<size_t>(3 * i + k)], one[static_cast<size_t>(k)]) << kind;
    }
    auto t = trainer(m, R"({"optimizer": "SGD", "loss": "mse"})");
    double loss[1] = {};
    ok(dl4_trainer_evaluate(t, d, nullptr, loss, 1, nullptr));
    double expected = 0;
    const auto wanted = floats(target);
    for (size_t i = 0; i < wanted.size(); ++i) expected += std::pow(got[i] - wanted[i], 2) / 15;
    EXPECT_NEAR(loss[0], expected, 1e-6) << kind;
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
