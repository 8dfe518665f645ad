// Activations: names, parameters, values at a few places, and the layers made of them.
#include <cmath>

#include "kinds/layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

TEST(Activation, EveryNameIsKnownAndComesBack) {
  for (const kinds::Entry *e : kinds::entries("activation")) {
    SCOPED_TRACE(std::string(e->name));
    if (std::string(e->name) == "threshold") continue;
    EXPECT_EQ(kinds::Activation::parse(std::string(e->name)).to_json(), std::string(e->name));
    EXPECT_EQ(kinds::Activation::parse(std::string(e->name)).is_linear(), std::string(e->name) == "linear");
  }
  EXPECT_TRUE(kinds::Activation::parse(nullptr).is_linear());
  EXPECT_EQ(kinds::Activation::parse("hard_swish").name(), "hard_silu");
}

TEST(Activation, TakesParameters) {
  Json given{{"class_name", "leaky_relu"}, {"config", {{"negative_slope", 0.1}}}};
  EXPECT_EQ(kinds::Activation::parse(given).to_json(), given);
  Json threshold{{"class_name", "threshold"}, {"config", {{"threshold", 1.0}, {"default_value", -2.0}}}};
  EXPECT_EQ(kinds::Activation::parse(threshold).to_json(), threshold);
  EXPECT_EQ(kinds::Activation::parse({{"class_name", "gelu"}, {"config", {{"approximate", false}}}}).to_json(), "gelu");
}

TEST(Activation, RefusesWhatDoesNotFit) {
  auto refused = [](const Json &j, Code code, const std::string &words) {
    expect_refusal(code, words, [&] { kinds::Activation::parse(j); });
  };
  refused("threshold", Code::invalid_argument, "attribute \"threshold\" is missing");
  refused({{"class_name", "relu"}, {"config", {{"slope", 1}}}}, Code::invalid_argument,
          "activation \"relu\": unknown attribute \"slope\"");
  refused({{"class_name", "softmax"}, {"config", {{"axis", 0.5}}}}, Code::invalid_argument, "expected an integer");
  refused(3, Code::invalid_argument, "expected the name of an activation");
  expect_call_refusal("Activation", {{"activation", "glu"}}, {{2, 3}}, "axis 1 to be known and even");
  LayerCall l("Activation", {{"activation", "relu"}});
  EXPECT_EQ(l.shape(l.call({l.input({2, 3}, DType::i32)})[0]), (Shape{2, 3}));  // as Keras casts them
}

double apply(const std::string &kind, const Json &config, float x) {
  LayerCall l(kind, config);
  return values(l.run(l.call({l.input({1, 1})}), {tensor<float>({1, 1}, {x})})[0])[0];
}

TEST(Activation, Values) {
  auto of = [](const Json &activation, float x) { return apply("Activation", {{"activation", activation}}, x); };
  EXPECT_FLOAT_EQ(of("linear", -3), -3);
  EXPECT_FLOAT_EQ(of("leaky_relu", -1), -0.2f);
  EXPECT_FLOAT_EQ(of("hard_sigmoid", 1), 4.0f / 6);
  EXPECT_FLOAT_EQ(of("hard_sigmoid_v1", 1), 0.7f);
  EXPECT_FLOAT_EQ(of("exponential", 1), std::exp(1.0f));
  EXPECT_FLOAT_EQ(of("squareplus", 0), 1);
  EXPECT_FLOAT_EQ(of({{"class_name", "relu"}, {"config", {{"max_value", 2.0}, {"negative_slope", 0.5}}}}, 9), 2);
  EXPECT_FLOAT_EQ(of({{"class_name", "relu"}, {"config", {{"max_value", 2.0}, {"negative_slope", 0.5}}}}, -2), -1);
  EXPECT_FLOAT_EQ(apply("LeakyReLU", Json::object(), -1), -0.3f);
  EXPECT_FLOAT_EQ(apply("ELU", {{"alpha", 2.0}}, -1), 2 * std::expm1(-1.0f));
  EXPECT_FLOAT_EQ(apply("ReLU", {{"max_value", 3.0}, {"threshold", 1.0}, {"negative_slope", 0.5}}, 0), -0.5f);
  EXPECT_FLOAT_EQ(apply("PReLU", Json::object(), -2), -2);
}

TEST(Activation, GluMultipliesTheHalves) {
  LayerCall l("Activation", {{"activation", "glu"}});
  auto y = l.run(l.call({l.input({1, 4})}), {tensor<float>({1, 4}, {1, 2, 0, 0})});
  EXPECT_EQ(values(y[0]), (std::vector<double>{0.5, 1}));
}

TEST(Activation, LayersRefuseWhatKerasRefuses) {
  for (const char *key : {"negative_slope", "threshold", "max_value"})
    expect_config_refusal("ReLU", {{key, -1.0}}, Code::invalid_argument, text('"', key, "\": expected at least 0"));
  expect_config_refusal("LeakyReLU", {{"negative_slope", nullptr}}, Code::invalid_argument, "expected a number");
  expect_call_refusal("PReLU", Json::object(), {{2, free_dim, 3}}, "every axis that is not shared should be known");
  LayerCall shared("PReLU", {{"shared_axes", {1}}});
  shared.call({shared.input({free_dim, free_dim, 3})});
  EXPECT_EQ(shared.specs[0].shape, (Shape{1, 3}));
}

TEST(Activation, IntegersAreOfThirtyTwoBits) {
  for (const char *name : {"glu", "softmax", "log_softmax", "sparsemax"})
    for (int64_t axis : {INT64_MAX, INT64_MIN, int64_t{INT32_MAX} + 1})
      expect_config_refusal("Dense",
                            {{"units", 4}, {"activation", {{"class_name", name}, {"config", {{"axis", axis}}}}}},
                            Code::invalid_argument, "expected an integer of -2147483648 to 2147483647");
}

TEST(Activation, MasksGoThrough) {
  for (const char *kind : {"Activation", "ReLU", "LeakyReLU", "ELU", "PReLU"}) {
    LayerCall l(kind, std::string(kind) == "Activation" ? Json{{"activation", "tanh"}} : Json::object());
    Symbol x = l.masked({2, 3, 4});
    EXPECT_EQ(l.call({x})[0].mask, x.mask) << kind;
  }
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
