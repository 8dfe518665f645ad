// The Program that is made of a model: its inputs, outputs and states, by name, shape and order.
#include "graph/lower.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/nets.hpp"
#include "ops/matched.hpp"
#include "ops/op.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

std::string values(const ops::Program &p, const std::vector<ops::Id> &ids) {
  std::string s;
  for (ops::Id id : ids) s += text(s.empty() ? "" : ", ", p[id].name, ' ', p[id].shape);
  return s;
}

int64_t steps(const ops::Program &p, std::string_view name) {
  return std::count_if(p.steps.begin(), p.steps.end(), [&](const ops::Step &s) { return s.op->name() == name; });
}

std::string refused(const Model &m, const InferenceOptions &how, Code code = Code::invalid_argument) {
  return graph::refused(code, [&] { inference(m, how); });
}

TEST(Lower, InputsOutputsAndStatesAreThoseOfTheModel) {
  Net net;
  const Node x = net.input("x", {free_dim, 3});
  const Model m = net.model({x}, {net.add("Dense", "hidden", {{"units", 4}}, {x}), x});
  const Inference all = inference(m);
  EXPECT_EQ(values(all.program, all.program.inputs), "x (?, 3)");
  EXPECT_EQ(values(all.program, all.program.states), "hidden/kernel (3, 4), hidden/bias (4,)");
  ASSERT_EQ(all.program.outputs.size(), 2u);
  EXPECT_EQ(all.program[all.program.outputs[0]].shape, Shape({free_dim, 4}));
  EXPECT_FALSE(all.counts);
  EXPECT_TRUE(all.written.empty());
}

TEST(Lower, ASharedLayerHasItsWeightsOnce) {
  Net net;
  const Node x = net.input("x", {free_dim, 3}), y = net.input("y", {free_dim, 3});
  const LayerId dense = net.graph->layer("Dense", "shared", {{"units", 3}});
  const Node a = net.graph->call(dense, {}, {x})[0], b = net.graph->call(dense, {}, {y})[0];
  const Inference all = inference(net.model({x, y}, {a, b}));
  EXPECT_EQ(values(all.program, all.program.states), "shared/kernel (3, 3), shared/bias (3,)");
  EXPECT_EQ(steps(all.program, "matmul"), 2);
}

TEST(Lower, GradientsAreOutputsBehindThoseOfTheModel) {
  Net net;
  const Node x = net.input("x", {free_dim, 3}), unused = net.input("unused", {free_dim, 2});
  const Model m = net.model({x, unused}, {net.add("Dense", "dense", {{"units", 4}}, {x})});
  const Inference all = inference(m, {.gradients = {"dense/kernel", "unused"}, .cotangents = true});
  ASSERT_EQ(all.output_names.size(), 3u);
  EXPECT_EQ(all.output_names[1], "gradient of dense/kernel");
  EXPECT_EQ(all.program[all.program.outputs[1]].shape, Shape({3, 4}));
  EXPECT_EQ(all.program[all.program.outputs[2]].shape, Shape({free_dim, 2})) << "zeros, in the input's shape";
  ASSERT_EQ(all.program.inputs.size(), 3u);
  EXPECT_EQ(all.program[all.program.inputs[2]].shape, Shape({free_dim, 4})) << "the cotangent of the output";
  EXPECT_EQ(refused(m, {.gradients = {"dense/kernal"}}, Code::not_found),
            "\"gradients\": the model has no input or weight \"dense/kernal\"; did you mean \"dense/kernel\"?");
  EXPECT_EQ(refused(m, {.gradients = {"x", "x"}}), "\"gradients\": \"x\" is listed twice");
}

TEST(Lower, DropoutIsThereInTrainingAlone) {
  Net net;
  const Node x = net.input("x", {free_dim, 3});
  const Model m = net.model({x}, {net.add("Dropout", "drop", {{"rate", 0.5}}, {x})});
  EXPECT_FALSE(inference(m).counts);
  EXPECT_TRUE(inference(m).program.steps.empty());
  const Inference training = inference(m, {.training = true});
  EXPECT_TRUE(training.counts) << "the number of the run is its last state";
  EXPECT_EQ(training.program.states.size(), 1u);
  EXPECT_FALSE(training.program.steps.empty());
}

// Two calls of one layer have separate states, unless it is stateful: then the second takes over what the first left.
TEST(Lower, StatesOfRecurrentLayersAreInputsAndOutputs) {
  const auto twice = [](bool stateful) {
    Net net;
    const Node x = net.input("x", {2, free_dim, 3});
    const LayerId gru = net.graph->layer("GRU", "gru", {{"units", 2}, {"stateful", stateful}});
    const std::vector<Node> y{net.graph->call(gru, {}, {x})[0], net.graph->call(gru, {}, {x})[0]};
    return pinned(net.model({x}, y), {.states = true}, {});
  };
  const Pinned apart = twice(false), kept = twice(true);
  EXPECT_EQ(values(apart.in.program, apart.in.program.inputs),
            "x (2, ?, 3), gru/rnn_state (2, 2), gru/rnn_state of call 1 (2, 2)");
  EXPECT_EQ(apart.in.output_names.back(), "gru/rnn_state of call 1");
  EXPECT_EQ(apart.alike, (std::vector<std::pair<size_t, size_t>>{{1, 2}, {2, 3}}));
  EXPECT_EQ(values(kept.in.program, kept.in.program.inputs), "x (2, ?, 3), gru/rnn_state (2, 2)");
  EXPECT_EQ(kept.in.states, 1u);
}

// What training writes: moving statistics, unless their layer is frozen, and kernels that a layer changes, whose
// gradient goes to what they were.
TEST(Lower, TrainingWritesStatisticsAndChangedKernels) {
  Net net;
  const Node x = net.input("x", {free_dim, 3});
  const Json dense{{"class_name", "Dense"}, {"config", {{"units", 2}}}};
  const Node y = net.add("SpectralNormalization", "spectral", {{"layer", dense}}, {x});
  Model m = net.model({x}, {net.add("BatchNormalization", "norm", Json::object(), {y})});
  const auto written = [&](const Model &of) {
    ops::Program p;
    ops::Emit e(p);
    std::vector<ops::Id> held;
    for (const auto &w : of.held()) held.push_back(e.state(w->name, w->spec.dtype, w->spec.shape));
    const Lowered lowered = lower(e, of, held, e.state("draws", DType::i64, {}), {.training = true});
    std::string names;
    for (size_t i = 0; i < held.size(); ++i)
      if (lowered.writes[i] != ops::none) names += p[held[i]].name + ' ';
    return names;
  };
  EXPECT_EQ(written(m), "spectral/dense/kernel spectral/vector_u norm/moving_mean norm/moving_variance ");
  const Model alone = net.model({x}, {y});
  const Tensor gradient =
      run(alone, {random_tensor({4, 3}, 1)}, {.training = true, .gradients = {"spectral/dense/kernel"}})[1];
  EXPECT_NE(floats(gradient), std::vector<float>(6)) << "through the division";
  m.set_trainable("norm/moving_mean", false);
  EXPECT_EQ(written(m), "spectral/dense/kernel spectral/vector_u norm/moving_variance ");
  m.set_trainable("norm", false);
  EXPECT_EQ(written(m), "spectral/dense/kernel spectral/vector_u ");
}

// The mask that MultiHeadAttention takes off a value is still that of the graph: layers that note masks follow it, and
// a layer in between runs again for its own mask, which adds no second loss.
TEST(Lower, MasksAreThoseOfTheGraphAndLossesAreAddedOnce) {
  Net net;
  const Node x = net.input("x", {free_dim, 4, 3}), masked = net.add("Masking", "mask", Json::object(), {x});
  Node heads = net.add("MultiHeadAttention", "heads", {{"num_heads", 1}, {"key_dim", 2}}, {masked, masked});
  for (int i = 0; i < 2; ++i) heads = net.add("ReLU", "{}", {heads});  // deeper than the others, so it runs first
  const Node dense = net.add("Dense", "dense", {{"units", 2}, {"activity_regularizer", "l2"}}, {masked});
  const Node mean = net.add("GlobalAveragePooling1D", "mean", Json::object(), {dense});
  const Model m = net.model({x}, {heads, dense, mean}), without = net.model({x}, {mean});
  ops::Program p;
  ops::Emit e(p);
  std::vector<ops::Id> held;
  for (const auto &w : m.held()) held.push_back(e.state(w->name, w->spec.dtype, w->spec.shape));
  EXPECT_EQ(lower(e, m, held, e.state("draws", DType::i64, {}), {.training = true}).penalties.size(), 1u);
  EXPECT_EQ(inference(m).masked, (std::vector{true, false, false}));
  const Tensor in = random_tensor({2, 4, 3}, 1);
  std::fill_n(in.as<float>(), 3, 0.f);
  EXPECT_EQ(floats(run(m, {in})[2]), floats(run(without, {in})[0]));
}

// A step is told by the layer around it.
TEST(Lower, WhatDoesNotStreamIsSaidOfItsLayer) {
  const auto why = [](const Model &m, const InferenceOptions &how) { return pinned(m, how, {}).why_no_tick; };
  const InferenceOptions states{.states = true};
  Net net;
  const Node x = net.input("x", {free_dim, free_dim, 3});
  const Node both =
      net.add("Bidirectional", "both", {{"layer", {{"class_name", "GRU"}, {"config", {{"units", 2}}}}}}, {x});
  EXPECT_EQ(why(net.model({x}, {both}), states), "layer \"both\" (Bidirectional): it reads a sequence from its end");
  const Model gru = net.model({x}, {net.add("GRU", "gru", {{"units", 2}}, {x})});
  EXPECT_EQ(why(gru, states), "");
  EXPECT_EQ(why(gru, {}), "it was made with neither \"streamable\": true nor \"states\": true");
  EXPECT_EQ(why(gru, {.training = true, .states = true}), "the session was made with \"training\": true");
  EXPECT_EQ(why(gru, {.gradients = {"x"}, .states = true}), "the session was made with \"gradients\"");
  // What is differentiated is not folded.
  const Model norm = net.model(
      {x}, {net.add("BatchNormalization", "norm", Json::object(), {net.add("Dense", "d", {{"units", 2}}, {x})})});
  const InferenceOptions by_x{.gradients = {"x"}};
  EXPECT_EQ(ops::to_string(pinned(norm, by_x, {}).in.program), ops::to_string(inference(norm, by_x).program));
  EXPECT_NE(ops::to_string(pinned(norm, {}, {}).in.program), ops::to_string(inference(norm).program));
}

// Of the products, in order: are their operands rounded?
std::string rounded(const ops::Program &p) {
  std::string found;
  for (const ops::Step &s : p.steps)
    if (const auto *product = ops::as<ops::MatMulOp>(s))
      found += text(found.empty() ? "" : " ", s.scope, ':', product->how.bfloat16);
  return found;
}

TEST(Lower, MixedLayersRoundInTrainingAlone) {
  Net net;
  net.graph = std::make_shared<Graph>(Settings{.seed = 3, .emulate_bfloat16 = true});
  const Node x = net.input("x", {free_dim, 8});
  const Json mixed{{"units", 3}, {"dtype", "mixed_bfloat16"}};
  const Node y = net.add("Dense", "b", {{"units", 2}}, {net.add("Dense", "a", mixed, {x})});
  const Model m = net.model({x}, {y});
  EXPECT_EQ(rounded(inference(m).program), "a:0 b:0");
  EXPECT_EQ(rounded(inference(m, {.training = true}).program), "a:1 b:0");
  EXPECT_EQ(rounded(inference(m, {.training = true, .gradients = {"a/kernel"}}).program), "a:1 b:0 b:0 a:1");
  EXPECT_EQ(m.graph().architecture({x}, {y}).layers[1].config.value("dtype", ""), "mixed_bfloat16");
}

TEST(Lower, LayersInsideOthersRoundAsTheySay) {
  for (const bool inside : {false, true}) {
    Net net;
    net.graph = std::make_shared<Graph>(Settings{.seed = 3, .emulate_bfloat16 = true});
    const Node x = net.input("x", {free_dim, 4, 8});
    Json inner{{"class_name", "Dense"}, {"config", {{"units", 3}}}}, outer;
    (inside ? inner["config"] : outer)["dtype"] = "mixed_bfloat16";
    outer["layer"] = inner;
    const Node y = net.add("TimeDistributed", "outer", outer, {x});
    const Model m = net.model({x}, {y});
    EXPECT_EQ(rounded(inference(m, {.training = true}).program), "outer/dense:1");
    const Json config = m.graph().architecture({x}, {y}).layers[1].config;
    EXPECT_EQ((inside ? config.at("layer").at("config") : config).value("dtype", ""), "mixed_bfloat16");
  }
}

TEST(Lower, MixedLayersAreRefusedWhereTheirProductsAreMissing) {
  ops::Program p;
  ops::Emit e(p);
  EXPECT_FALSE(kinds::rounds(e, "a"));
  e.mixed = ops::Emit::Mixed::yes;
  EXPECT_TRUE(kinds::rounds(e, "a"));
  e.mixed = ops::Emit::Mixed::missing;
  try {
    kinds::rounds(e, "a");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_TRUE(std::string(error.what()).starts_with("layer \"a\": \"dtype\": expected a processor with AVX512_BF16"))
        << error.what();
  }
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
