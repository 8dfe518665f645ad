// Layers that mix steps or inputs: LSTM, attention, merges, softmax, dropout. Refusals and the rules of masks.
#include <limits>

#include <cmath>

#include "kinds/layer_call.hpp"
#include "plan/differentiate.hpp"

namespace dl4::test::DL4_FILE {
namespace {

const float nan = std::numeric_limits<float>::quiet_NaN();

Arguments with(const char *key, const Json &value) {
  Arguments a;
  a.plain[key] = value;
  return a;
}

// ---- LSTM ----------------------------------------------------------------------------------------------------------

TEST(Lstm, Refusals) {
  expect_config_refusal("LSTM", {{"units", 2}, {"bias_initializer", nullptr}}, Code::invalid_argument,
                        "\"bias_initializer\": expected an initializer with unit_forget_bias, got null");
  LayerCall("LSTM", {{"units", 2}, {"bias_initializer", nullptr}, {"use_bias", false}});
  expect_call_refusal("LSTM", {{"units", 2}}, {{2, 3}}, "expected ndim=3, found ndim=2");
  expect_call_refusal("LSTM", {{"units", 2}}, {{2, 3, free_dim}}, "should be known");
  LayerCall l("LSTM", {{"units", 2}});
  Symbol x = l.input({free_dim, 3, 4});
  Arguments one, wrong;
  one.symbols["initial_state"] = {l.input({free_dim, 2})};
  expect_refusal(Code::invalid_argument, "expected 2 tensors, got 1", [&] { l.call({x}, one); });
  wrong.symbols["initial_state"] = {l.input({free_dim, 2}), l.input({free_dim, 3})};
  expect_refusal(Code::shape_mismatch, "\"initial_state\": expected shape (?, 2), got (?, 3)",
                 [&] { l.call({x}, wrong); });
}

TEST(Lstm, OutputsWeightsMasks) {
  LayerCall all("LSTM", {{"units", 2}, {"return_sequences", true}, {"return_state", true}});
  Symbol x = all.masked({free_dim, free_dim, 3});
  auto y = all.call({x});
  ASSERT_EQ(y.size(), 3u);
  EXPECT_EQ(all.shape(y[0]), (Shape{free_dim, free_dim, 2}));
  EXPECT_EQ(all.shape(y[2]), (Shape{free_dim, 2}));
  EXPECT_EQ(y[0].mask, x.mask);
  EXPECT_EQ(y[1].mask, ops::none);
  ASSERT_EQ(all.specs.size(), 3u);
  EXPECT_EQ(all.specs[0].shape, (Shape{3, 8}));
  EXPECT_EQ(all.specs[1].shape, (Shape{2, 8}));
  LayerCall last("LSTM", {{"units", 2}});
  EXPECT_EQ(last.call({last.masked({2, 3, 4})})[0].mask, ops::none);
}

TEST(Lstm, TheForgetGatesBiasStartsAtOne) {
  for (bool ones : {true, false}) {
    Json five{{"class_name", "Constant"}, {"config", {{"value", 5.0}}}};
    LayerCall l("LSTM", {{"units", 2}, {"unit_forget_bias", ones}, {"bias_initializer", five}});
    l.call({l.input({1, 2, 3})});
    Tensor bias = make_tensor(DType::f32, {8});
    l.specs[2].initializer->fill(bias, {});
    double forget = ones ? 1 : 5;
    EXPECT_EQ(values(bias), (std::vector<double>{5, 5, forget, forget, 5, 5, 5, 5}));
  }
}

TEST(Lstm, MaskedStepsRepeatOrGiveZero) {
  for (bool zero : {false, true}) {
    for (bool sequences : {true, false}) {
      LayerCall l("LSTM", {{"units", 1}, {"return_sequences", sequences}, {"zero_output_for_mask", zero}});
      auto y = l.call({l.masked({1, 3, 1})});
      auto got = values(l.run(y, {tensor<float>({1, 3, 1}, {1, 2, 3}), tensor<bool>({1, 3}, {true, true, false})})[0]);
      EXPECT_EQ(got.back() == 0, zero);
      if (sequences && !zero) {
        EXPECT_EQ(got[2], got[1]);
      }
    }
  }
}

TEST(Lstm, DropoutIsTheSameAtEveryStep) {
  LayerCall l("LSTM", {{"units", 1}, {"dropout", 0.5}});
  Symbol x = l.input({2, 3, 4});
  l.call({x}, {}, true);
  EXPECT_EQ(l.seeds, 1u);
  bool found = false;
  for (const ops::Step &s : l.program.steps)
    if (s.op->name() == "random_keep") found = l.program[s.dst[0]].shape == Shape{2, 4};
  EXPECT_TRUE(found);
  size_t steps = l.program.steps.size();
  l.call({x}, {}, false);
  for (size_t i = steps; i < l.program.steps.size(); ++i) EXPECT_NE(l.program.steps[i].op->name(), "random_keep");
}

// ---- attention -----------------------------------------------------------------------------------------------------

TEST(Attention, Refusals) {
  for (const char *kind : {"Attention", "AdditiveAttention"}) {
    expect_call_refusal(kind, Json::object(), {{2, 3, 4}, {2, 3}},
                        "input 1 is incompatible with the layer: expected ndim=3");
    expect_call_refusal(kind, Json::object(), {{2, 3, 4}, {2, 5, 4}, {2, 6, 4}},
                        "value and key must have as many steps");
    expect_config_refusal(kind, {{"dropout", 1.5}}, Code::invalid_argument, "\"dropout\": expected at most 1");
  }
  expect_config_refusal("Attention", {{"score_mode", "dots"}}, Code::invalid_argument, "did you mean \"dot\"?");
  expect_config_refusal("AdditiveAttention", {{"score_mode", "dot"}}, Code::invalid_argument, "unknown attribute");
  LayerCall l("Attention");
  Arguments one;
  one.symbols["mask"] = {l.input({2, 3}, DType::boolean)};
  expect_refusal(Code::invalid_argument, "[query_mask, value_mask], got 1", [&] {
    l.call({l.input({2, 3, 4}), l.input({2, 3, 4})}, one);
  });
}

TEST(Attention, WeightsOfEveryMode) {
  auto names = [](const char *kind, const Json &config) {
    LayerCall l(kind, config);
    auto y = l.call({l.input({free_dim, free_dim, 3}), l.input({free_dim, 5, 3})});
    EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, free_dim, 3}));
    std::string s;
    for (const auto &w : l.specs) s += w.name + to_string(w.shape);
    return s;
  };
  EXPECT_EQ(names("Attention", Json::object()), "");
  EXPECT_EQ(names("Attention", {{"use_scale", true}, {"score_mode", "concat"}}), "scale()concat_score_weight()");
  EXPECT_EQ(names("AdditiveAttention", Json::object()), "scale(3,)");
  EXPECT_EQ(names("AdditiveAttention", {{"use_scale", false}}), "");
}

// The outputs and the gradients of query and value. Query (1, 2, 1), value (1, 3, 1) and their masks, in that order.
std::vector<Tensor> attend(const char *kind, const std::vector<float> &query, const std::vector<float> &value,
                           const std::vector<bool> &query_mask, const std::vector<bool> &value_mask,
                           Arguments arguments) {
  LayerCall l(kind);
  Symbol q = l.masked({1, 2, 1}), v = l.masked({1, 3, 1});
  auto y = l.call({q, v}, arguments);
  EXPECT_EQ(y[0].mask, q.mask);
  Id loss = ops::reduce(l.e, ops::Reduce::sum, y[0].value, {});
  std::vector<Id> wrt{q.value, v.value};
  for (Id g : plan::differentiate(l.e, loss, wrt)) y.push_back({g});
  return l.run(y, {tensor<float>({1, 2, 1}, query), tensor<bool>({1, 2}, query_mask), tensor<float>({1, 3, 1}, value),
                   tensor<bool>({1, 3}, value_mask)});
}

TEST(Attention, NothingLeaksThroughMasks) {
  for (const char *kind : {"Attention", "AdditiveAttention"}) {
    for (bool causal : {false, true}) {
      SCOPED_TRACE(text(kind, causal ? " causal" : ""));
      Arguments how = with("use_causal_mask", causal);
      auto dirty = attend(kind, {1, nan}, {2, nan, 3}, {true, false}, {true, false, true}, how);
      auto clean = attend(kind, {1, 0}, {2, 0, 3}, {true, false}, {true, false, true}, how);
      for (size_t i = 0; i < dirty.size(); ++i) expect_close(dirty[i], clean[i], 0, text("output ", i));
      EXPECT_EQ(dirty[0].as<float>()[1], 0);
      for (const Tensor &t : dirty)
        for (double v : values(t)) EXPECT_FALSE(std::isnan(v));
    }
  }
}

TEST(Attention, AFullyMaskedRowIsUniformAlsoWhenScoresAreAsked) {
  for (const char *kind : {"Attention", "AdditiveAttention"}) {
    for (bool scores : {false, true}) {
      Arguments how = with("return_attention_scores", scores);
      auto y = attend(kind, {1, 5}, {1, 4, 7}, {true, true}, {false, false, false}, how);
      EXPECT_EQ(values(y[0]), (std::vector<double>{4, 4}));
      for (double w : scores ? values(y[1]) : std::vector<double>{}) EXPECT_FLOAT_EQ(static_cast<float>(w), 1.0f / 3);
    }
    // Causal, with the first step masked: only the first query sees nothing.
    auto y = attend(kind, {1, 5}, {1, 4, 7}, {true, true}, {false, true, true}, with("use_causal_mask", true));
    EXPECT_EQ(values(y[0]), (std::vector<double>{4, 4}));
  }
}

TEST(Attention, ScoresAreAfterDropout) {
  LayerCall l("Attention", {{"dropout", 1.0}});
  auto y = l.call({l.input({1, 2, 1}), l.input({1, 3, 1})}, with("return_attention_scores", true), true);
  auto got = l.run(y, {random({1, 2, 1}, 1), random({1, 3, 1}, 2)});
  EXPECT_EQ(values(got[1]), std::vector<double>(6, 0));
}

// ---- merges --------------------------------------------------------------------------------------------------------

TEST(Merge, Refusals) {
  expect_call_refusal("Add", Json::object(), {{2, 3}, {3, 3}}, "cannot merge tensors with different batch sizes");
  expect_call_refusal("Add", Json::object(), {{2, 3}, {2, 4}}, "do not broadcast");
  // In the words of the layer, whatever ops it is made of.
  for (const char *kind : {"Subtract", "Average", "Maximum"})
    expect_refusal(Code::invalid_argument, "does not compute with dtype bool", [&] {
      LayerCall l(kind);
      l.call({l.input({2, 3}, DType::boolean), l.input({2, 3}, DType::boolean)});
    });
  expect_call_refusal("Concatenate", Json::object(), {{2, 3, 4}, {2, 4, 4}},
                      "matching shapes except for the concatenation axis 2");
  expect_call_refusal("Concatenate", {{"axis", 3}}, {{2, 3}, {2, 4}}, "axis 3 is out of range", Code::invalid_argument);
  LayerCall l("Add");
  EXPECT_EQ(l.shape(l.call({l.input({2, 3}), l.input({2, 3}, DType::i32)})[0]), (Shape{2, 3}));  // as Keras casts them
  EXPECT_EQ(LayerCall("Subtract").layer->arity().most, 2);
}

std::vector<double> merged(const std::string &kind, const std::vector<bool> &a, const std::vector<bool> &b) {
  LayerCall l(kind);
  auto y = l.call({l.masked({1, 3, 1}), l.masked({1, 3, 1})});
  auto got = l.run({y[0], {y[0].mask}}, {tensor<float>({1, 3, 1}, {1, 2, 3}), tensor<bool>({1, 3}, a),
                                         tensor<float>({1, 3, 1}, {4, 5, -6}), tensor<bool>({1, 3}, b)});
  EXPECT_EQ(values(got[1]), (std::vector<double>{1, 1, 0})) << kind;
  return values(got[0]);
}

TEST(Merge, MasksAreOred) {
  std::vector<bool> a{true, false, false}, b{true, true, false};
  using Values = std::vector<double>;
  EXPECT_EQ(merged("Add", a, b), (Values{5, 7, -3}));
  EXPECT_EQ(merged("Subtract", a, b), (Values{-3, -3, 9}));
  EXPECT_EQ(merged("Average", a, b), (Values{2.5, 3.5, -1.5}));
  EXPECT_EQ(merged("Multiply", a, b), (Values{4, 5, 0}));
  EXPECT_EQ(merged("Maximum", a, b)[1], 5);
  EXPECT_EQ(merged("Minimum", a, b)[1], 5);
  for (const char *kind : {"Add", "Multiply", "Maximum"}) {
    LayerCall l(kind);
    EXPECT_EQ(l.call({l.masked({2, 3, 1}), l.input({2, 3, 1})})[0].mask, ops::none) << kind;
  }
}

TEST(Merge, MissingAxesStandBehindTheBatch) {
  LayerCall l("Add");
  EXPECT_EQ(l.shape(l.call({l.input({free_dim, 5, 3}), l.input({free_dim, 3})})[0]), (Shape{free_dim, 5, 3}));
}

TEST(Concatenate, Masks) {
  LayerCall features("Concatenate");
  auto y = features.call({features.masked({1, 2, 2}), features.masked({1, 2, 3})});
  EXPECT_EQ(features.shape(y[0]), (Shape{1, 2, 5}));
  std::vector<Tensor> in{random({1, 2, 2}, 1), tensor<bool>({1, 2}, {true, false}), random({1, 2, 3}, 2),
                         tensor<bool>({1, 2}, {false, false})};
  EXPECT_EQ(values(features.run({{y[0].mask}}, in)[0]), (std::vector<double>{1, 0}));
  LayerCall steps("Concatenate", {{"axis", 1}});
  y = steps.call({steps.masked({1, 2, 2}), steps.input({1, 1, 2})});
  EXPECT_EQ(values(steps.run({{y[0].mask}}, {in[0], in[1], random({1, 1, 2}, 3)})[0]), (std::vector<double>{1, 0, 1}));
  LayerCall none("Concatenate");
  EXPECT_EQ(none.call({none.input({1, 2}), none.input({1, 3})})[0].mask, ops::none);
}

TEST(Merge, RefusesASingleNumberAmongTensors) {
  for (const char *kind : {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"})
    expect_call_refusal(
        kind, Json::object(), {{2, 3}, {}},
        "input 1: expected a tensor with a batch axis, as the other inputs have, got one number, of shape ()");
  LayerCall numbers("Add");
  EXPECT_EQ(numbers.shape(numbers.call({numbers.input({}), numbers.input({})})[0]), Shape{});
}

// ---- softmax, dropout ----------------------------------------------------------------------------------------------

TEST(Softmax, MasksAndAxes) {
  LayerCall l("Softmax");
  Arguments a;
  Symbol x = l.input({2, 3});
  a.symbols["mask"] = {l.input({2, 3}, DType::boolean)};
  auto y = l.call({x}, a);
  auto got = l.run(
      y, {tensor<float>({2, 3}, {1, nan, 1, 3, 3, 3}), tensor<bool>({2, 3}, {true, false, true, false, false, false})});
  EXPECT_EQ(values(got[0]), (std::vector<double>{0.5, 0, 0.5, 0, 0, 0}));
  LayerCall both("Softmax", {{"axis", {1, 2}}});
  got = both.run(both.call({both.input({1, 2, 2})}), {tensor<float>({1, 2, 2}, {4, 4, 4, 4})});
  EXPECT_EQ(values(got[0]), std::vector<double>(4, 0.25));
  // A mask that the input carries covers steps, whatever their number.
  LayerCall carried("Softmax");
  y = carried.call({carried.masked({1, 2, 2})});
  got = carried.run(y, {tensor<float>({1, 2, 2}, {1, 1, 1, 1}), tensor<bool>({1, 2}, {true, false})});
  EXPECT_EQ(values(got[0]), (std::vector<double>{0.5, 0.5, 0, 0}));
  Arguments wrong;
  wrong.symbols["mask"] = {l.input({2, 2}, DType::boolean)};
  expect_refusal(Code::shape_mismatch, "\"mask\": expected a shape that broadcasts to (2, 3)",
                 [&] { l.call({x}, wrong); });
  expect_config_refusal("Softmax", {{"axis", Json::array()}}, Code::invalid_argument, "at least one axis");
}

TEST(Dropout, ModesNoiseShapesAndSeeds) {
  LayerCall l("Dropout", {{"rate", 0.5}});
  Symbol x = l.masked({free_dim, 3, 4});
  EXPECT_EQ(l.call({x}, {}, false)[0].value, x.value);
  EXPECT_NE(l.call({x}, {}, true)[0].value, x.value);
  EXPECT_EQ(l.call({x}, with("training", false), true)[0].value, x.value);
  EXPECT_EQ(l.call({x}, {}, true)[0].mask, x.mask);
  EXPECT_GT(l.seeds, 0u);
  LayerCall own("Dropout", {{"rate", 0.5}, {"seed", 7}});
  own.call({own.input({2, 3})}, {}, true);
  EXPECT_EQ(own.seeds, 0u);

  auto noise = [](const Json &shape, const Shape &input) {
    LayerCall d("Dropout", {{"rate", 0.5}, {"noise_shape", shape}});
    d.call({d.input(input)}, {}, true);
    for (const ops::Step &s : d.program.steps)
      if (s.op->name() == "random_keep") return d.program[s.dst[0]].shape;
    return Shape{};
  };
  EXPECT_EQ(noise({nullptr, 1, nullptr}, {free_dim, 3, 4}), (Shape{free_dim, 1, 4}));
  EXPECT_EQ(noise({1, nullptr, 4}, {free_dim, free_dim, 4}), (Shape{1, free_dim, 4}));
  expect_refusal(Code::shape_mismatch, "expected null, 1 or 3 for axis 1, got 2", [&] {
    noise({nullptr, 2, 1}, {free_dim, 3, 4});
  });
  expect_refusal(Code::shape_mismatch, "expected 3 dims as the input has, got 2", [&] { noise({1, 1}, {1, 3, 4}); });
  expect_config_refusal("Dropout", {{"rate", 1.5}}, Code::invalid_argument, "\"rate\": expected at most 1");
  expect_config_refusal("Dropout", {{"rate", 0.5}, {"noise_shape", {0}}}, Code::invalid_argument, "\"noise_shape\"");
}

TEST(Dropout, EverythingAtRateOne) {
  LayerCall l("Dropout", {{"rate", 1.0}});
  EXPECT_EQ(values(l.run(l.call({l.input({2, 2})}, {}, true), {random({2, 2}, 1)})[0]), std::vector<double>(4, 0));
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
