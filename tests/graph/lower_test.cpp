// The Program that is made of a model: its inputs, outputs and states, by name, shape and order.
#include "graph/lower.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "ops/matmul.hpp"
#include "ops/op.hpp"

namespace dl4::graph {
namespace {

struct Net {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>(Settings{3, SeedScheme::dl4});
  Node input(const char *name, const Shape &shape) { return graph->input(name, DType::f32, shape); }
  Node add(const char *kind, const char *name, Json attributes, Node x) {
    return graph->add(kind, name, std::move(attributes), {}, {x})[0];
  }
  Model model(std::vector<Node> in, std::vector<Node> out) { return {graph, std::move(in), std::move(out)}; }
};

std::string values(const ops::Program &p, const std::vector<ops::Id> &ids) {
  std::string s;
  for (ops::Id id : ids) s += text(s.empty() ? "" : ", ", p[id].name, ' ', p[id].shape);
  return s;
}

int64_t steps(const ops::Program &p, std::string_view name) {
  return std::count_if(p.steps.begin(), p.steps.end(), [&](const ops::Step &s) { return s.op->name() == name; });
}

std::string refused(const Model &m, const InferenceOptions &how) {
  try {
    inference(m, how);
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

TEST(Lower, InputsOutputsAndStatesAreThoseOfTheModel) {
  Net net;
  const Node x = net.input("x", {free_dim, 3});
  const Model m = net.model({x}, {net.add("Dense", "hidden", {{"units", 4}}, x), x});
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
  const Model m = net.model({x, unused}, {net.add("Dense", "dense", {{"units", 4}}, x)});
  const Inference all = inference(m, {.gradients = {"dense/kernel", "unused"}, .cotangents = true});
  ASSERT_EQ(all.output_names.size(), 3u);
  EXPECT_EQ(all.output_names[1], "gradient of dense/kernel");
  EXPECT_EQ(all.program[all.program.outputs[1]].shape, Shape({3, 4}));
  EXPECT_EQ(all.program[all.program.outputs[2]].shape, Shape({free_dim, 2})) << "zeros, in the input's shape";
  ASSERT_EQ(all.program.inputs.size(), 3u);
  EXPECT_EQ(all.program[all.program.inputs[2]].shape, Shape({free_dim, 4})) << "the cotangent of the output";
  EXPECT_NE(refused(m, {.gradients = {"dense/kernal"}}).find("dense/kernal"), std::string::npos);
  EXPECT_NE(refused(m, {.gradients = {"x", "x"}}).find("twice"), std::string::npos);
}

TEST(Lower, DropoutIsThereInTrainingAlone) {
  Net net;
  const Node x = net.input("x", {free_dim, 3});
  const Model m = net.model({x}, {net.add("Dropout", "drop", {{"rate", 0.5}}, x)});
  EXPECT_FALSE(inference(m).counts);
  EXPECT_TRUE(inference(m).program.steps.empty());
  const Inference training = inference(m, {.training = true, .gradients = {}});
  EXPECT_TRUE(training.counts) << "the number of the run is its last state";
  EXPECT_EQ(training.program.states.size(), 1u);
  EXPECT_FALSE(training.program.steps.empty());
}

TEST(Lower, StatesOfRecurrentLayersAreInputsAndOutputs) {
  Net net;
  const Node x = net.input("x", {free_dim, free_dim, 3});
  const Inference all =
      inference(net.model({x}, {net.add("LSTM", "lstm", {{"units", 2}}, x)}), {.gradients = {}, .states = true});
  EXPECT_EQ(all.states, 2u);
  EXPECT_EQ(values(all.program, all.program.inputs), "x (?, ?, 3), lstm/rnn_state (?, 2), lstm/rnn_state_1 (?, 2)");
  EXPECT_EQ(all.program.outputs.size(), 3u);
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
  const Node y = net.add("Dense", "b", {{"units", 2}}, net.add("Dense", "a", mixed, x));
  const Model m = net.model({x}, {y});
  EXPECT_EQ(rounded(inference(m).program), "a:0 b:0");
  EXPECT_EQ(rounded(inference(m, {.training = true, .gradients = {}}).program), "a:1 b:0");
  EXPECT_EQ(rounded(inference(m, {.training = true, .gradients = {"a/kernel"}}).program),
            "a:1 b:0 b:0 a:1");
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
    const Node y = net.add("TimeDistributed", "outer", outer, x);
    const Model m = net.model({x}, {y});
    EXPECT_EQ(rounded(inference(m, {.training = true, .gradients = {}}).program), "outer/dense:1");
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
}  // namespace dl4::graph
