// Worked numbers, and small nets of what the articles build, through the public interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "draw.hpp"

namespace models::DL4_FILE {
namespace {

using namespace dl4;

// GlobalAttention of query, value and perhaps key: what it gives, or its weights.
std::vector<float> attended(const Tensors &in, const Attrs &config, bool scores = false) {
  Graph g;
  Nodes nodes;
  const char *names[] = {"query", "value", "key"};
  for (size_t i = 0; i < in.size(); ++i) {
    Dims dims = in[i].dims();
    dims[0] = -1;
    nodes.push_back(g.input(names[i], dims));
  }
  const Nodes out = g.call(g.layer("GlobalAttention", config), nodes, {{"return_attention_scores", scores}});
  return values(Session(g.build(nodes, {out.back()})).run(in)[0]);
}

TEST(Worked, SoftAndHardAttention) {
  const Tensors in{Tensor::of({0, 0.9f}, {1, 2}), Tensor::of({0, 1}, {1, 2, 1}), Tensor::of({0, 0, 0, 1}, {1, 2, 2})};
  EXPECT_NEAR(attended(in, {})[0], 0.7109, 5e-5);
  EXPECT_EQ(attended(in, {{"distribution", "hardmax"}})[0], 1);
}

TEST(Worked, SleepyChild) {
  const Tensors in{Tensor::of({0, 2, 1}, {1, 3}),
                   Tensor::of({0, 0, 0, 2, 0, 1, 1, -1, -2, 2, 3, 1, -2, 0, 0, 0, 2, 1}, {1, 6, 3})};
  const std::vector<float> weights = attended(in, {}, true);
  const double expected[] = {0.0008, 0.0022, 0.0000, 0.8775, 0.0008, 0.1187};
  ASSERT_EQ(weights.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(weights[i], expected[i], 1e-4) << "word " << i;  // printed cut off
}

// A controller that acts on what another model remembers: the same numbers as with the hidden state handed over.
TEST(Worked, ControllerOnAnotherModelsHiddenState) {
  Graph world;
  const Node seen = world.input("seen", {-1, 5, 3});
  const Nodes read = world.call(world.layer("LSTM", {{"units", 4}, {"return_state", true}}), {seen});
  Model memory = world.build({seen}, {read[1]});

  auto act = [](Graph &g, Node x, Node h) {
    const Node both = g.add("Concatenate", {x, h});
    return g.add("Dense", g.add("Dense", both, {{"units", 6}, {"activation", "tanh"}}, "controller"),
                 {{"units", 2}, {"activation", "softmax"}}, "action");
  };
  Graph joint, alone;
  const Node x = joint.input("x", {-1, 2}), before = joint.input("seen", {-1, 5, 3});
  Model whole =
      joint.build({x, before}, {act(joint, x, joint.add("Functional", before, model_as_layer(memory), "memory"))});
  const Node x2 = alone.input("x", {-1, 2}), h2 = alone.input("h", {-1, 4});
  Model controller = alone.build({x2, h2}, {act(alone, x2, h2)});

  Draw draw(1);
  const Tensor now = draw.reals({8, 2}), past = draw.reals({8, 5, 3});
  Tensor answers = Tensor::zeros<int32_t>({8});
  for (int32_t &a : answers.data<int32_t>()) a = draw.below(2);
  const std::vector<float> memory_before = values(memory.weight("lstm/kernel"));
  double first = 0, last = 0;
  {
    Trainer trainer(whole, options(R"({"loss": "SparseCategoricalCrossentropy", "optimizer":
                                       {"class_name": "Adam", "config": {"learning_rate": 0.05}}})"));
    for (int i = 0; i < 60; ++i) (i ? last : first) = trainer.step({now, past}, {answers})[0];
  }
  EXPECT_LT(last, first / 4);
  EXPECT_NE(values(memory.weight("lstm/kernel")), memory_before) << "its weights are not shared";

  for (const std::string &name : controller.weight_names()) controller.set_weight(name, whole.weight(name));
  const Tensor h = Session(memory).run({past})[0];
  const auto together = values(Session(whole).run({now, past})[0]);
  const auto apart = values(Session(controller).run({now, h})[0]);
  for (size_t i = 0; i < apart.size(); ++i) EXPECT_NEAR(apart[i], together[i], 1e-6) << i;
}

// One body, a head for each sort of question, each with the loss of its sort by its name.
TEST(Worked, HeadsByTask) {
  Graph g;
  const Node x = g.input("x", {-1, 6, 4});
  const Node steps = g.add("GRU", x, {{"units", 12}, {"return_sequences", true}});
  const Node body = g.add("GlobalAveragePooling1D", steps);
  const Model model = g.build({x}, {g.add("Dense", body, {{"units", 1}}, "amount"),
                                    g.add("Dense", body, {{"units", 1}, {"activation", "sigmoid"}}, "yes"),
                                    g.add("Dense", body, {{"units", 3}, {"activation", "softmax"}}, "class"),
                                    g.add("Dense", body, {{"units", 4}, {"activation", "sigmoid"}}, "labels"),
                                    g.add("Dense", steps, {{"units", 3}, {"activation", "softmax"}}, "each_step")});
  Trainer trainer(model, options(R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.03}},
    "loss": {"amount": "MeanSquaredError", "yes": "BinaryCrossentropy", "class": "SparseCategoricalCrossentropy",
             "labels": "BinaryCrossentropy", "each_step": "SparseCategoricalCrossentropy"}})"));
  const std::vector<std::string> names{"loss",       "amount_loss", "yes_loss",
                                       "class_loss", "labels_loss", "each_step_loss"};
  ASSERT_EQ(trainer.metric_names(), names);

  constexpr int64_t n = 12;
  Draw draw(2);
  const Tensor in = draw.reals({n, 6, 4});
  Tensor yes = Tensor::zeros({n, 1}), labels = Tensor::zeros({n, 4});
  Tensor classes = Tensor::zeros<int32_t>({n}), each = Tensor::zeros<int32_t>({n, 6});
  for (float &v : yes.data()) v = static_cast<float>(draw.below(2));
  for (float &v : labels.data()) v = static_cast<float>(draw.below(2));
  for (int32_t &v : classes.data<int32_t>()) v = draw.below(3);
  for (size_t i = 0; i < n * 6; ++i) each.data<int32_t>()[i] = in.data()[4 * i] > 0.3f ? 2 : in.data()[4 * i] > -0.3f;
  const Tensors targets{draw.reals({n, 1}), yes, classes, labels, each};
  std::vector<double> first, last;
  for (int i = 0; i < 300; ++i) (i ? last : first) = trainer.step({in}, targets);
  EXPECT_NEAR(first[0], first[1] + first[2] + first[3] + first[4] + first[5], 1e-5);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_LT(last[i], first[i] / 4) << names[i];
}

// A block of a Transformer as a model that is a layer twice: its weights are the block's, it knows no order, and with a
// causal mask no future.
TEST(Worked, TransformerBlock) {
  constexpr int64_t width = 8, time = 5;
  auto block = [](bool causal) {
    Graph g;
    const Node x = g.input("x", {-1, -1, width});
    const Node n = g.add("LayerNormalization", x);
    const Node a = g.call(g.layer("MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 4}}), {n, n},
                          {{"use_causal_mask", causal}})[0];
    const Node h = g.add("Add", {x, a});
    const Node wide =
        g.add("Dense", g.add("LayerNormalization", h), {{"units", 4 * width}, {"activation", "gelu"}}, "wide");
    return g.build({x}, {g.add("Add", {h, g.add("Dense", wide, {{"units", width}}, "narrow")})});
  };
  for (const bool causal : {false, true}) {
    const Model one = block(causal);
    Graph g;
    const Node x = g.input("x", {-1, time, width});
    const dl4_layer layer = g.layer("Functional", model_as_layer(one), "block");
    const Model two = g.build({x}, {g.call(layer, g.call(layer, {x}))[0]});
    EXPECT_EQ(two.weight_names().size(), one.weight_names().size());

    const Session session(two);
    Tensor in = Draw(3).reals({1, time, width});
    const auto y = values(session.run({in})[0]);
    if (causal) {  // another last step
      for (size_t f = 0; f < width; ++f) in.data()[(time - 1) * width + f] += 1;
      const auto changed = values(session.run({in})[0]);
      EXPECT_TRUE(std::equal(y.begin(), y.end() - width, changed.begin()));
      EXPECT_FALSE(std::equal(y.end() - width, y.end(), changed.end() - width));
    } else {  // the steps in reverse
      Tensor back = Tensor::zeros({1, time, width});
      for (size_t t = 0; t < time; ++t)
        std::copy_n(in.data().begin() + static_cast<int64_t>(t * width), width,
                    back.data().begin() + static_cast<int64_t>((time - 1 - t) * width));
      const auto turned = values(session.run({back})[0]);
      for (size_t i = 0; i < y.size(); ++i)
        EXPECT_NEAR(turned[(time - 1 - i / width) * width + i % width], y[i], 1e-5) << i;
    }
  }
}

// Spectrogram by name: a tone of k periods a frame lies in bin k.
TEST(Worked, SpectrogramOfTones) {
  Graph g;
  const Node x = g.input("sound", {-1, 256, 1});
  const Node y = g.add("STFTSpectrogram", x, {{"mode", "magnitude"}, {"frame_length", 64}, {"frame_step", 32}});
  ASSERT_EQ(g.shape(y), (Dims{-1, 7, 33}));
  const Session session(g.build({x}, {y}));
  for (const size_t periods : {3u, 8u, 21u}) {
    Tensor sound = Tensor::zeros({1, 256, 1});
    for (size_t t = 0; t < 256; ++t)
      sound.data()[t] = static_cast<float>(std::sin(2 * std::numbers::pi * static_cast<double>(periods * t) / 64));
    const auto found = values(session.run({sound})[0]);
    for (size_t frame = 0; frame < 7; ++frame) {
      const auto *bins = &found[frame * 33];
      EXPECT_EQ(static_cast<size_t>(std::max_element(bins, bins + 33) - bins), periods) << "frame " << frame;
    }
  }
}

// What a node gets does not depend on its number, nor on the order of the edges.
TEST(Worked, GraphLayersAreEquivariantUnderPermutation) {
  constexpr size_t nodes = 5, edges = 8, features = 3;
  const size_t order[nodes] = {3, 0, 4, 1, 2};  // where each node goes
  for (const char *kind : {"GraphAttention", "GraphNetwork"}) {
    const bool attention = std::string(kind) == "GraphAttention";
    Draw draw(4);
    const Tensor x = draw.reals({1, nodes, features}), about = draw.reals({1, edges, 2});
    Tensor links = Tensor::zeros<int32_t>({1, edges, 2}), moved = Tensor::zeros({1, nodes, features});
    Tensor relinked = Tensor::zeros<int32_t>({1, edges, 2}), reabout = Tensor::zeros({1, edges, 2});
    for (size_t n = 0; n < nodes; ++n)
      for (size_t f = 0; f < features; ++f) moved.data()[order[n] * features + f] = x.data()[n * features + f];
    for (size_t e = 0; e < edges; ++e)
      for (size_t side = 0; side < 2; ++side) {
        const int32_t node = draw.below(nodes);
        const size_t to = (edges - 1 - e) * 2 + side;
        links.data<int32_t>()[e * 2 + side] = node;
        relinked.data<int32_t>()[to] = static_cast<int32_t>(order[static_cast<size_t>(node)]);
        reabout.data()[to] = about.data()[e * 2 + side];
      }
    Graph g;
    const Node in = g.input("nodes", {-1, nodes, features}), list = g.input("edges", {-1, -1, 2}, DL4_INT32),
               facts = g.input("facts", {-1, -1, 2});
    const Attrs config = attention ? Attrs{{"units", 4}, {"heads", 2}} : Attrs{{"node_units", 4}, {"edge_units", 3}};
    const Node y = g.call(g.layer(kind, config), {in, list, facts})[0];
    const Session session(g.build({in, list, facts}, {y}));
    const auto before = values(session.run({x, links, about})[0]),
               after = values(session.run({moved, relinked, reabout})[0]);
    const size_t width = before.size() / nodes;
    double size = 0;
    for (size_t n = 0; n < nodes; ++n)
      for (size_t f = 0; f < width; ++f) {
        EXPECT_NEAR(after[order[n] * width + f], before[n * width + f], 1e-6) << kind << " node " << n;
        size += std::fabs(before[n * width + f]);
      }
    EXPECT_GT(size, 0.1) << kind;
  }
}

}  // namespace
}  // namespace models::DL4_FILE
