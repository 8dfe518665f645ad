// TimeDistributed around cells that are run: all steps in one call, unless a cell sees one sample beside the others.
#include "capi/graph_cells.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;

const json stacked{{"class_name", "StackedRNNCells"},
                   {"config",
                    {{"cells",
                      {{{"class_name", "GRUCell"}, {"config", {{"units", 3}, {"name", "gru"}}}},
                       {{"class_name", "LSTMCell"}, {"config", {{"units", 2}, {"name", "lstm"}}}}}},
                     {"name", "cells"}}}};
const json rnn_of_cells{{"class_name", "RNN"}, {"config", {{"cell", stacked}, {"name", "rnn"}}}};

Own<dl4_model> distributed(const json &layer, int64_t steps) {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, steps, 4, 2});
  return build(g, {x}, {put(g, "TimeDistributed", "steps", json{{"layer", layer}}.dump(), {x})});
}

// What the layer makes of each step, with the same weights.
void expect_each_step(const json &layer, const char *kind) {
  Own<dl4_model> all = distributed(layer, -1);
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 4, 2});
  Own<dl4_model> one = build(g, {x}, {put(g, kind, "steps", layer.at("config").dump(), {x})});
  const auto names = weight_names(all), same = weight_names(one);
  ASSERT_EQ(names.size(), same.size());
  for (size_t i = 0; i < names.size(); ++i) {
    Own<dl4_tensor> w;
    ok(dl4_model_get_weight(all, names[i].c_str(), w.out()));
    ok(dl4_model_set_weight(one, same[i].c_str(), w));
  }
  constexpr size_t batch = 2, steps = 3, step = 4 * 2;
  const auto values = numbers(batch * steps * step);
  const auto y = run(all, {tensor({batch, steps, 4, 2}, values)})[0];
  const size_t out = y.size() / (batch * steps);
  for (size_t t = 0; t < steps; ++t) {
    std::vector<float> in, wanted;
    for (size_t b = 0; b < batch; ++b) {
      const auto from = values.begin() + static_cast<ptrdiff_t>((b * steps + t) * step);
      in.insert(in.end(), from, from + step);
      const auto at = y.begin() + static_cast<ptrdiff_t>((b * steps + t) * out);
      wanted.insert(wanted.end(), at, at + static_cast<ptrdiff_t>(out));
    }
    expect_near(run(one, {tensor({batch, 4, 2}, in)})[0], wanted, 1e-6, "step " + std::to_string(t));
  }
}

TEST(TimeDistributed, ACellThatIsRunIsCalledOnceForAllSteps) {
  expect_each_step(rnn_of_cells, "RNN");
  json both{{"class_name", "Bidirectional"}, {"config", {{"layer", rnn_of_cells}, {"name", "both"}}}};
  expect_each_step(both, "Bidirectional");
}

// h becomes that of the other samples: the steps are no samples then, and their number must be known.
TEST(TimeDistributed, ACellThatMixesSamplesIsCalledForEachStep) {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 2}), h = input(g, "h", {-1, 2});
  Own<dl4_model> step =
      build(g, {x, h}, {put(g, "Add", "y", "{}", {x, put(g, "Flip", "turned", R"({"axis": 0})", {h})})});
  const json architecture = json::parse(described(step, DL4_FORMAT_JSON));
  const json cell{{"class_name", "GraphCell"},
                  {"config", {{"model", architecture}, {"states", {{"h", "y"}}}, {"name", "cell"}}}};
  const json layer{{"class_name", "RNN"}, {"config", {{"cell", cell}, {"name", "rnn"}}}};
  const json both{{"class_name", "Bidirectional"}, {"config", {{"layer", layer}, {"name", "both"}}}};
  for (const json &mixing : {layer, both}) {
    auto outer = graph();
    const dl4_node in = input(outer, "x", {-1, -1, 4, 2});
    dl4_node y = -1;
    const Refusal r = refusal(dl4_graph_add(outer, "TimeDistributed", nullptr, json{{"layer", mixing}}.dump().c_str(),
                                            nullptr, nullptr, &in, 1, &y, 1));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << r.message;
    EXPECT_NE(r.message.find("is called for each step, so their number must be known"), std::string::npos) << r.message;
  }
  Own<dl4_model> m = distributed(layer, 1);
  const auto y = run(m, {tensor({2, 1, 4, 2}, numbers(16))})[0], once = numbers(16);
  // Of sample 0: x of its own at steps 3 and 1, of the other at 2 and 0.
  EXPECT_NEAR(y[0], once[6] + once[8 + 4] + once[2] + once[8], 1e-6);
}

}  // namespace
