// Bidirectional, TimeDistributed, Functional: refusals, configs, which weights and how many calls.
#include <set>

#include "kinds/layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

Json kind(const std::string &name, const Json &config = Json::object()) {
  return {{"class_name", name}, {"config", config}};
}
Json lstm(const Json &config = Json::object()) {
  Json all{{"units", 2}};
  all.update(config);
  return kind("LSTM", all);
}
size_t count(const LayerCall &l, const std::string &op) {
  size_t n = 0;
  for (const auto &step : l.program.steps) n += step.op->name() == op;
  return n;
}

// ---- Bidirectional --------------------------------------------------------------------------------------------------

TEST(Bidirectional, Refusals) {
  const auto refused = [](const Json &config, const std::string &words, Code code = Code::invalid_argument) {
    expect_config_refusal("Bidirectional", config, code, words);
  };
  refused(Json::object(), "attribute \"layer\" is missing");
  refused({{"layer", nullptr}}, "\"layer\": expected a recurrent layer, got null");
  refused({{"layer", kind("Dense", {{"units", 2}})}}, "\"layer\": expected a recurrent layer, got Dense");
  refused({{"layer", lstm()}, {"backward_layer", "Flatten"}},
          "\"backward_layer\": expected a recurrent layer, got Fla");
  refused({{"layer", lstm()}, {"merge_mode", "add"}}, "\"merge_mode\": expected one of \"concat\", \"sum\", \"mul\"");
  refused({{"layer", lstm({{"go_backwards", true}})}},
          "\"backward_layer\": expected another go_backwards than of the forward layer, got true of both");
  refused({{"layer", lstm()}, {"backward_layer", lstm()}}, "got false of both");
  for (const char *key : {"return_sequences", "return_state"})
    refused({{"layer", lstm()}, {"backward_layer", lstm({{"go_backwards", true}, {key, true}})}},
            text("\"backward_layer\": expected ", key, " as of the forward layer, false, got true"));
  refused({{"layer", lstm()}, {"weights", 1}}, "unknown attribute \"weights\"");

  const Json clash{{"layer", lstm()}, {"backward_layer", lstm({{"name", "forward_lstm"}, {"go_backwards", true}})}};
  expect_call_refusal("Bidirectional", clash, {{2, 3, 4}}, "two of \"forward_lstm\"", Code::invalid_argument);
  expect_call_refusal("Bidirectional", {{"layer", lstm()}}, {{2, 3}}, "inner layer \"forward_lstm\": input 0 is");
  LayerCall l("Bidirectional", {{"layer", lstm()}});
  Arguments three;
  three.symbols["initial_state"] = {l.input({2, 2}), l.input({2, 2}), l.input({2, 2})};
  expect_refusal(Code::invalid_argument, "\"initial_state\": expected 2 tensors, got 1", [&] {
    l.call({l.input({2, 3, 4})}, three);
  });
}

TEST(Bidirectional, MakesTheHalvesAsKerasDoes) {
  LayerCall l("Bidirectional", {{"layer", lstm({{"name", "forward_a"}, {"return_sequences", true}})}});
  const Json config = l.layer->config();
  const Json &forward = config["layer"]["config"], &backward = config["backward_layer"]["config"];
  EXPECT_EQ(forward["name"], "forward_a");
  EXPECT_EQ(backward["name"], "backward_a");
  EXPECT_EQ(forward["go_backwards"], false);
  EXPECT_EQ(backward["go_backwards"], true);
  for (const Json *half : {&forward, &backward}) EXPECT_EQ((*half)["zero_output_for_mask"], true);
  const Json forced = LayerCall("Bidirectional", {{"layer", lstm({{"zero_output_for_mask", true}})}}).layer->config();
  EXPECT_EQ(forced["layer"]["config"]["zero_output_for_mask"], false);

  const auto out = l.call({l.masked({free_dim, free_dim, 3})});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(l.shape(out[0]), (Shape{free_dim, free_dim, 4}));
  EXPECT_NE(out[0].mask, ops::none);
  std::vector<std::string> names;
  for (const auto &spec : l.specs) names.push_back(spec.name);
  EXPECT_EQ(names, (std::vector<std::string>{"forward_a/kernel", "forward_a/recurrent_kernel", "forward_a/bias",
                                             "backward_a/kernel", "backward_a/recurrent_kernel", "backward_a/bias"}));
}

TEST(Bidirectional, StatesComeForwardFirst) {
  LayerCall l(
      "Bidirectional",
      {{"layer", lstm({{"return_state", true}, {"return_sequences", true}})},
       {"backward_layer",
        lstm(
            {{"name", "b"}, {"units", 3}, {"go_backwards", true}, {"return_state", true}, {"return_sequences", true}})},
       {"merge_mode", nullptr}});
  const auto out = l.call({l.masked({2, 4, 3})});
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(l.shape(out[1]), (Shape{2, 4, 3}));
  EXPECT_EQ(out[0].mask, out[1].mask);
  for (size_t i : {2u, 3u}) EXPECT_EQ(l.shape(out[i]), (Shape{2, 2}));
  for (size_t i : {4u, 5u}) EXPECT_EQ(l.shape(out[i]), (Shape{2, 3}));
}

// ---- TimeDistributed ------------------------------------------------------------------------------------------------

TEST(TimeDistributed, Refusals) {
  const auto refused = [](const Json &config, const std::string &words, Code code = Code::invalid_argument) {
    expect_config_refusal("TimeDistributed", config, code, words);
  };
  refused(Json::object(), "attribute \"layer\" is missing");
  refused({{"layer", nullptr}}, "\"layer\": expected a layer of one input, got null");
  refused({{"layer", "Subtract"}}, "\"layer\": expected a layer of one input, got Subtract");
  refused({{"layer", 3}}, "\"layer\": expected a name or");
  expect_call_refusal("TimeDistributed", {{"layer", "Flatten"}}, {{2, 3}}, "expected min_ndim=3, found ndim=2");
  expect_call_refusal("TimeDistributed", {{"layer", lstm({{"return_state", true}})}}, {{2, 3, 4, 5}},
                      "\"layer\": expected a layer of one output, \"lstm\" has 3", Code::invalid_argument);
  expect_call_refusal("TimeDistributed", {{"layer", lstm()}}, {{2, 3, 4}},
                      "inner layer \"lstm\": input 0 is incompatible with the layer: expected ndim=3");
  const Json norm = kind("UnitNormalization", {{"axis", 0}});
  for (int64_t steps : {int64_t{free_dim}, int64_t{0}, int64_t{10001}})
    expect_call_refusal("TimeDistributed", {{"layer", norm}}, {{2, steps, 4}},
                        "\"unit_normalization\" is called for each step, so their number must be known, 1 to 10000",
                        Code::unsupported);
  LayerCall l("TimeDistributed", {{"layer", "Flatten"}});
  Arguments flat;
  flat.symbols["mask"] = {l.input({2}, DType::boolean)};
  expect_refusal(Code::shape_mismatch, "\"mask\": expected shape (batch, time, ...), got (2,)", [&] {
    l.call({l.input({2, 3, 4})}, flat);
  });
}

// One call where that is the same, else one for each step.
TEST(TimeDistributed, CallsForEachStepWhereItMatters) {
  const Json drop = kind("Dropout", {{"rate", 0.5}}), over_samples = kind("Softmax", {{"axis", 0}});
  LayerCall dense("TimeDistributed", {{"layer", kind("Dense", {{"units", 2}})}});
  EXPECT_EQ(dense.shape(dense.call({dense.input({free_dim, 7, 3})}, {}, true)[0]), (Shape{free_dim, 7, 2}));
  EXPECT_EQ(count(dense, "matmul"), 1u);
  EXPECT_EQ(dense.shape(dense.call({dense.masked({free_dim, free_dim, 3})}, {}, true)[0]),
            (Shape{free_dim, free_dim, 2}));
  LayerCall dropout("TimeDistributed", {{"layer", drop}});
  dropout.call({dropout.input({free_dim, 7, 3})}, {}, true);
  std::set<std::string> keys;
  for (const auto &step : dropout.program.steps)
    if (step.op->name() == "random_keep") keys.insert(to_string(step.op->attributes()));
  EXPECT_EQ(keys.size(), 7u);
  LayerCall nested("TimeDistributed", {{"layer", kind("TimeDistributed", {{"layer", over_samples}})}});
  nested.call({nested.input({2, 3, 4, 5})});
  EXPECT_EQ(count(nested, "softmax"), 12u);
}

TEST(TimeDistributed, LeavesThePenaltyOfTheLayerOutAndThoseInsideItIn) {
  const Json l2 = kind("L2", {{"l2", 0.1}});
  LayerCall own("TimeDistributed", {{"layer", kind("Dense", {{"units", 2}, {"activity_regularizer", l2}})}});
  own.call({own.input({2, 3, 4})}, {}, true);
  EXPECT_EQ(own.losses.size(), 0u);
  const Json both = kind("Bidirectional", {{"layer", lstm({{"activity_regularizer", l2}})}});
  LayerCall inside("TimeDistributed", {{"layer", both}});
  inside.call({inside.input({2, 3, 4, 5})}, {}, true);
  EXPECT_EQ(inside.losses.size(), 6u);
}

// ---- Functional -----------------------------------------------------------------------------------------------------

const char *const net = R"({"format": 1, "inputs": [["x", 0, 0]], "outputs": [["y", 1, 0]], "layers": [
    {"class_name": "Input", "name": "x", "config": {"shape": [null, 3], "dtype": "float32"}},
    {"class_name": "Dense", "name": "y", "config": {"units": 3, "use_bias": false, "trainable": false},
     "calls": [{"inputs": [["x", 0, 0]]}, {"inputs": [["y", 0, 0]]}]}]})";

TEST(Functional, ItsWeightsStandUnderItsLayersOnce) {
  LayerCall l("Functional", {{"model", Json::parse(net)}});
  l.call({l.input({free_dim, 3})});
  ASSERT_EQ(l.specs.size(), 1u);
  EXPECT_EQ(l.specs[0].name, "y/kernel");
  EXPECT_TRUE(l.specs[0].frozen);
  EXPECT_EQ(count(l, "matmul"), 2u);
  LayerCall steps("TimeDistributed", {{"layer", kind("Functional", {{"model", Json::parse(net)}, {"name", "net"}})}});
  steps.call({steps.input({free_dim, 5, 3})});
  EXPECT_EQ(steps.specs[0].name, "net/y/kernel");
  EXPECT_EQ(count(steps, "matmul"), 2u);
}

TEST(Functional, Refusals) {
  const auto refused = [](const Json &config, const std::string &words, Code code = Code::invalid_argument) {
    expect_config_refusal("Functional", config, code, words);
  };
  refused(Json::object(), "\"model\": expected an architecture, got null");
  refused({{"model", 3}}, "\"model\": expected an architecture, got 3");
  refused({{"model", Json::object()}}, "\"format\" is missing");
  Json none = Json::parse(net);
  none["outputs"] = Json::array();
  refused({{"model", none}}, "a model needs at least one output");
  Json deeper = Json::parse(net);
  deeper["layers"][1]["config"]["unit"] = 1;
  refused({{"model", deeper}}, "layer \"y\": unknown attribute \"unit\"");
  refused({{"model", Json::parse(net)}, {"layers", Json::array()}}, "unknown attribute \"layers\"");
  expect_call_refusal("Functional", {{"model", Json::parse(net)}}, {{2, 4}},
                      "input 0 is incompatible with the layer: expected float32 (?, 3) as \"x\", got float32 (2, 4)");
  expect_call_refusal("Functional", {{"model", Json::parse(net)}}, {{2, 3}},
                      "expected float32 (?, 3) as \"x\", got int32 (2, 3)", Code::shape_mismatch, DType::i32);
}

TEST(Functional, ReadsConfigsOfVersion1) {
  const kinds::Entry &entry = kinds::find("layer", "Functional");
  Json old{{"model", Json::parse(net)}, {"layers", nullptr}, {"build_input_shape", nullptr}};
  EXPECT_EQ(kinds::upgraded(entry, old, 1), (Json{{"model", Json::parse(net)}}));
  old["layers"] = Json::array();
  EXPECT_TRUE(kinds::upgraded(entry, old, 1).contains("layers"));
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
