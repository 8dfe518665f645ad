// What layers and losses of one's own are made of: weights by themselves, losses that are graphs, shared layers.
#include <nlohmann/json.hpp>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

Own<dl4_graph> graph() {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  return g;
}

Own<dl4_model> built(dl4_graph *g, dl4_node x, dl4_node y) {
  Own<dl4_model> m;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

std::vector<float> run(const dl4_model *m, dl4_tensor *x) { return dl4_test::run(m, {x})[0]; }

dl4_node pair(dl4_graph *g, const char *kind, dl4_node a, dl4_node b) {
  const dl4_node in[2] = {a, b};
  dl4_node y = -1;
  ok(dl4_graph_add(g, kind, nullptr, nullptr, nullptr, nullptr, in, 2, &y, 1));
  return y;
}

TEST(Weight, TrainsAsTheKernelOfDense) {
  auto x = tensor({8, 4}, numbers(32)), y = tensor({8, 3}, numbers(24)), first = tensor({4, 3}, numbers(12));
  std::vector<float> kernels[2];
  for (int own = 0; own < 2; ++own) {
    auto g = graph();
    dl4_node in = input(g, "x", {-1, 4}), w = -1, out = -1;
    if (own) {
      ok(dl4_graph_add(g, "Weight", "w", R"({"shape": [4, 3], "regularizer": "L2"})", nullptr, nullptr, nullptr, 0, &w,
                       1));
      out = pair(g, "MatMul", in, w);
    } else {
      out = add(g, "Dense", "w", R"({"units": 3, "use_bias": false, "kernel_regularizer": "L2"})", in);
    }
    auto m = built(g, in, out);
    const char *name = own ? "w/value" : "w/kernel";
    ok(dl4_model_set_weight(m, name, first));
    auto t = trainer(m);
    dl4_tensor *xs = x, *ys = y;
    for (int i = 0; i < 3; ++i) ok(dl4_trainer_step(t, &xs, 1, &ys, 1, nullptr, 0, nullptr, 0, nullptr));
    Own<dl4_tensor> now;
    ok(dl4_model_get_weight(m, name, now.out()));
    kernels[own] = floats(now);
    auto r = bounded();
    Refusal refused;
    EXPECT_EQ(run(load(r, saved(m), refused), x), run(m, x)) << refused.message;
  }
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(kernels[0][i], kernels[1][i], 1e-6);
}

TEST(Weight, RefusalsNameTheShape) {
  auto g = graph();
  dl4_layer l = -1;
  for (const char *config : {"{}", R"({"shape": [-1]})", R"({"shape": [1, 1, 1, 1, 1, 1, 1, 1, 1]})"}) {
    const Refusal r = refusal(dl4_graph_add_layer(g, "Weight", nullptr, config, nullptr, &l));
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
    EXPECT_NE(r.message.find("\"shape\""), std::string::npos) << r.message;
  }
}

// mean((p - t)^2) along the last axis, as a graph.
json squared_error() {
  auto g = graph();
  const dl4_node in[2] = {input(g, "t", {-1, 3}), input(g, "p", {-1, 3})};
  dl4_node y =
      add(g, "Mean", nullptr, R"({"axis": -1})", add(g, "Square", nullptr, "{}", pair(g, "Subtract", in[1], in[0])));
  Own<dl4_model> m;
  ok(dl4_graph_build(g, in, 2, &y, 1, m.out()));
  return json::parse(described(m, DL4_FORMAT_JSON));
}

TEST(FunctionalLoss, TrainsAndMeasuresAsTheLossItIs) {
  auto x = tensor({8, 4}, numbers(32)), y = tensor({8, 3}, numbers(24)), w = tensor({8}, {1, 2, 0, 1, 1, 3, 1, 1});
  const json graph{{"class_name", "Functional"}, {"config", {{"model", squared_error()}}}};
  const json named{{"class_name", "Functional"}, {"config", {{"model", squared_error()}, {"name", "mine"}}}};
  double metrics[2][2] = {};
  for (int own = 0; own < 2; ++own) {
    Own<dl4_context> c;
    ok(dl4_context_create(R"({"seed": 3})", c.out()));
    auto m = small_net(c, "linear");
    const json how{{"optimizer", "Adam"},
                   {"loss", own ? graph : json("mse")},
                   {"weighted_metrics", {own ? named : json({{"class_name", "mse"}, {"config", {{"name", "mine"}}}})}}};
    auto t = trainer(m, how.dump());
    dl4_tensor *xs = x, *ys = y, *ws = w;
    for (int i = 0; i < 3; ++i) ok(dl4_trainer_step(t, &xs, 1, &ys, 1, &ws, 1, metrics[own], 2, nullptr));
    EXPECT_EQ(metrics_of(t), (std::vector<std::string>{"loss", "mine"}));
  }
  EXPECT_NEAR(metrics[0][0], metrics[1][0], 1e-6);
  EXPECT_NEAR(metrics[0][1], metrics[1][1], 1e-6);
}

TEST(FunctionalLoss, Refusals) {
  auto m = small_net();
  auto refused = [&](const json &model) {
    const json how{{"optimizer", "SGD"}, {"loss", {{"class_name", "Functional"}, {"config", {{"model", model}}}}}};
    Own<dl4_trainer> t;
    return refusal(dl4_trainer_create(m, how.dump().c_str(), t.out()));
  };
  EXPECT_NE(refused(json::parse(described(m, DL4_FORMAT_JSON))).message.find("y_true and y_pred and one output, got 1"),
            std::string::npos);
  EXPECT_EQ(refused(nullptr).code, DL4_INVALID_ARGUMENT);
  auto g = graph();
  const dl4_node in[2] = {input(g, "t", {-1, 3}), input(g, "p", {-1, 3})};
  dl4_node y = pair(g, "Subtract", in[0], add(g, "Dense", "d", R"({"units": 3})", in[1]));
  Own<dl4_model> with_weights;
  ok(dl4_graph_build(g, in, 2, &y, 1, with_weights.out()));
  const Refusal r = refused(json::parse(described(with_weights, DL4_FORMAT_JSON)));
  EXPECT_NE(r.message.find("expected a graph that only computes"), std::string::npos) << r.message << r.detail;
}

TEST(Share, ALayerOfTwoGraphsHasOneSetOfWeights) {
  auto g = graph(), h = graph();
  dl4_node x = input(g, "x", {-1, 4});
  dl4_layer d = -1, twin = -1;
  ok(dl4_graph_add_layer(g, "Dense", "d", R"({"units": 3})", nullptr, &d));
  const Refusal early = refusal(dl4_graph_add_shared(h, g, d, nullptr, &twin));
  EXPECT_NE(early.message.find("expected a layer that has been called"), std::string::npos) << early.message;
  dl4_node y = -1, z = -1, x2 = input(h, "x", {-1, 4});
  ok(dl4_graph_call(g, d, nullptr, nullptr, &x, 1, &y, 1));
  ok(dl4_graph_add_shared(h, g, d, "twin", &twin));
  ok(dl4_graph_call(h, twin, nullptr, nullptr, &x2, 1, &z, 1));
  auto m = built(g, x, y), n = built(h, x2, add(h, "Dense", "more", R"({"units": 3})", z));
  auto other = built(h, x2, z);
  auto in = tensor({5, 4}, numbers(20)), to = tensor({5, 3}, numbers(15));
  EXPECT_EQ(run(m, in), run(other, in));
  ok(dl4_model_set_weight(m, "d/bias", tensor({3}, {1, 2, 3})));
  EXPECT_EQ(run(m, in), run(other, in));
  {
    auto t = trainer(n);
    dl4_tensor *xs = in, *ys = to;
    ok(dl4_trainer_step(t, &xs, 1, &ys, 1, nullptr, 0, nullptr, 0, nullptr));
    Own<dl4_trainer> second;
    EXPECT_EQ(refusal(dl4_trainer_create(m, R"({"optimizer": "SGD", "loss": "mse"})", second.out())).code, DL4_BUSY);
  }
  EXPECT_EQ(run(m, in), run(other, in));
  ok(dl4_model_set_trainable(n, "twin", 0));
  EXPECT_EQ(trainable(m, 0), 0);
  EXPECT_EQ(refusal(dl4_graph_add_shared(g, g, d, nullptr, &twin)).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(refusal(dl4_graph_add_shared(g, h, 99, nullptr, &twin)).code, DL4_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
