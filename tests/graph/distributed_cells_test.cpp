// TimeDistributed around cells that are run: all steps in one call, unless a cell sees one sample beside the others.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

const Json rnn_of_cells = Json::parse(R"({"class_name": "RNN", "config": {"name": "rnn", "cell":
    {"class_name": "StackedRNNCells", "config": {"name": "cells", "cells": [
        {"class_name": "GRUCell", "config": {"units": 3, "name": "gru"}},
        {"class_name": "LSTMCell", "config": {"units": 2, "name": "lstm"}}]}}}})");
Json both_ways(const Json &layer) {
  return {{"class_name", "Bidirectional"}, {"config", {{"layer", layer}, {"name", "both"}}}};
}

Model distributed(const Json &layer, int64_t steps) {
  Net net;
  const Node x = net.input("x", {free_dim, steps, 4, 2});
  return net.model({x}, {net.add("TimeDistributed", "steps", {{"layer", layer}}, {x})});
}

// What the layer makes of each step, with the same weights.
TEST(TimeDistributed, ACellThatIsRunIsCalledOnceForAllSteps) {
  for (const Json &layer : {rnn_of_cells, both_ways(rnn_of_cells)}) {
    const Model all = distributed(layer, free_dim);
    Net net;
    const Node x = net.input("x", {free_dim, 4, 2});
    Model one = net.model({x}, {net.add(layer.at("class_name").get<std::string>(), "steps", layer.at("config"), {x})});
    ASSERT_EQ(all.weights().size(), one.weights().size());
    for (size_t i = 0; i < all.weights().size(); ++i)
      one.set_weight(one.weights()[i]->name, all.get_weight(all.weights()[i]->name));
    const Tensor in = random_tensor({2, 3, 4, 2}, 1), y = run(all, {in})[0];
    for (int64_t t = 0; t < 3; ++t) {
      Tensor step = part(in, t, t + 1);
      step.shape = {2, 4, 2};
      expect_close(floats(run(one, {step})[0]), floats(part(y, t, t + 1)));
    }
  }
}

// h becomes that of the other samples: the steps are no samples then, and their number must be known.
TEST(TimeDistributed, ACellThatMixesSamplesIsCalledForEachStep) {
  Net step;
  const Node x = step.input("x", {free_dim, 2}), h = step.input("h", {free_dim, 2});
  const Node turned = step.add("Flip", R"({"axis": 0})", {h});
  const Model cell = step.model({x, h}, {step.add("Add", "y", Json::object(), {x, turned})});
  const Json config{{"model", to_json(cell.architecture())}, {"states", {{"h", "y"}}}, {"name", "cell"}};
  const Json layer{{"class_name", "RNN"},
                   {"config", {{"cell", {{"class_name", "GraphCell"}, {"config", config}}}, {"name", "rnn"}}}};
  for (const Json &mixing : {layer, both_ways(layer)})
    EXPECT_NE(refused(Code::unsupported, [&] { distributed(mixing, free_dim); })
                  .find("is called for each step, so their number must be known"),
              std::string::npos);
  const Tensor in = random_tensor({2, 1, 4, 2}, 1);
  const auto once = floats(in), y = floats(run(distributed(layer, 1), {in})[0]);
  // Of sample 0: x of its own at steps 3 and 1, of the other at 2 and 0.
  EXPECT_NEAR(y[0], once[6] + once[8 + 4] + once[2] + once[8], 1e-6);
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
