// Gradients as values of a graph.

#include "capi/step.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr char mse[] = R"({"loss": "MeanSquaredError"})";

TEST(GraphGradients, TakeOutputGradientsAndSeveralTargets) {
  Step g;
  const dl4_node x = g.in("x", {-1, 2}), dy = g.in("dy", {-1, 2});
  const dl4_node square = g.call("Square", "{}", {x}), sum = g.call("Sum", "{}", {x});
  dl4_node vjp = -1, both = -1;
  ok(dl4_graph_add_gradients(g.g, nullptr, &square, 1, &dy, &x, 1, &vjp, 1));
  const dl4_node targets[] = {square, sum}, given[] = {dy, -1};
  ok(dl4_graph_add_gradients(g.g, nullptr, targets, 2, given, &x, 1, &both, 1));
  auto m = g.build({x, dy}, {vjp, both});
  auto a = tensor({2, 2}, {1, 2, 3, 4}), b = tensor({2, 2}, {1, 0, -1, 0.5f});
  const auto out = Runs(m)({a, b});
  expect_near(out[0], {2, 0, -6, 4}, 0);
  expect_near(out[1], {3, 1, -5, 5}, 0);
}

TEST(GraphGradients, ByWhatNoTargetDependsOnAreZeros) {
  Step g;
  const dl4_node x = g.in("x", {3}), other = g.in("other", {-1, 2});
  const dl4_node y = g.call("Sum", "{}", {g.call("StopGradient", "{}", {x})});
  const Nodes found = g.gradients({y}, {x, other});
  auto m = g.build({x, other}, found);
  auto a = tensor({3}, {1, 2, 3}), b = tensor({1, 2}, {1, 2});
  const auto out = Runs(m)({a, b});
  EXPECT_EQ(out[0], std::vector<float>(3, 0));
  EXPECT_EQ(out[1], std::vector<float>(2, 0));
  dl4_node n = -1;
  const Refusal r =
      refusal(dl4_graph_add_gradients(g.g, R"({"unconnected": "refused"})", &y, 1, nullptr, &other, 1, &n, 1));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("no target depends on input 1"), std::string::npos) << r.message;
}

TEST(GraphGradients, RefuseWhatHasNone) {
  Step g;
  const dl4_node x = g.in("x", {-1, 4}), ids = g.in("ids", {-1, 4}, DL4_INT32);
  const dl4_node y = g.call("Square", "{}", {x}), scalar = g.call("Sum", "{}", {y});
  dl4_node n = 7;
  const auto refused = [&](dl4_node target, dl4_node by, const std::string &options, int32_t code,
                           const std::string &words) {
    const Refusal r = refusal(dl4_graph_add_gradients(g.g, options.c_str(), &target, 1, nullptr, &by, 1, &n, 1));
    EXPECT_EQ(r.code, code) << r.message;
    EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
    EXPECT_EQ(n, -1);
  };
  refused(y, x, "{}", DL4_SHAPE_MISMATCH, "target 0: expected a single number");
  refused(99, x, "{}", DL4_INVALID_ARGUMENT, "node 99 is not in this graph");
  refused(scalar, 99, "{}", DL4_INVALID_ARGUMENT, "node 99 is not in this graph");
  refused(scalar, ids, "{}", DL4_INVALID_ARGUMENT, "found dtype=int32");
  refused(ids, x, "{}", DL4_INVALID_ARGUMENT, "found dtype=int32");
  refused(scalar, x, R"({"unconected": "zeros"})", DL4_INVALID_ARGUMENT, "did you mean \"unconnected\"?");
  refused(scalar, x, R"({"targets": 1})", DL4_INVALID_ARGUMENT, "targets");
  for (int64_t asked : {0, 2}) {
    dl4_node two[2];
    EXPECT_EQ(refusal(dl4_graph_add_gradients(g.g, nullptr, &scalar, 1, nullptr, &x, asked ? 1 : 0, two, asked)).code,
              DL4_INVALID_ARGUMENT);
  }
  Refusal r = refusal(dl4_graph_add_gradients(g.g, nullptr, &scalar, 1, &x, &x, 1, &n, 1));
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH) << r.message;

  // Of second order there is none through an LSTM: the op is named.
  const dl4_node sequence = g.in("sequence", {-1, 5, 3});
  const dl4_node last = g.call("Sum", "{}", {g.call("LSTM", R"({"units": 2})", {sequence})});
  const dl4_node slope = g.gradients({last}, {sequence})[0];
  refused(g.call("Sum", "{}", {slope}), sequence, "{}", DL4_UNSUPPORTED, "has no gradient by its source");
}

TEST(GraphGradients, OfALossAreThoseOfATrainer) {
  Own<dl4_model> net = small_net();
  Step g;
  const dl4_node x = g.in("x", {-1, 4}), target = g.in("target", {-1, 3});
  const dl4_node loss = g.call("Loss", mse, {target, g.model(net, "net", x)});
  const Nodes found = g.gradients({loss}, g.weights(net, "net"));
  auto m = g.build({x, target}, found);
  auto a = tensor({5, 4}, numbers(20)), b = tensor({5, 3}, numbers(15));
  const auto out = Runs(m)({a, b});
  auto t = trainer(net);
  dl4_tensor *in = a, *to = b;
  ok(dl4_trainer_accumulate(t, &in, 1, &to, 1, nullptr, 0, nullptr, 0, nullptr));
  for (size_t i = 0; i < out.size(); ++i) {
    Own<dl4_tensor> gradient;
    ok(dl4_trainer_get_gradient(t, dl4_port_name(net, DL4_WEIGHTS, static_cast<int64_t>(i)), gradient.out()));
    expect_near(out[i], floats(gradient), 1e-6f);
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
