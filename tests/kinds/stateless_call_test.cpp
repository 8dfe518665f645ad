// StatelessCall: the layer's own numbers and gradients, with weights that are values.
#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

Json call_of(const char *kind, const Json &config, int64_t inputs = 1) {
  return {{"layer", {{"class_name", kind}, {"config", config}}}, {"inputs", inputs}};
}

TEST(StatelessCall, IsTheLayerWithItsWeightsAsInputs) {
  // y = x W + b; W and b are read by the layer in this order.
  check(layer_case("StatelessCall", call_of("Dense", {{"units", 2}}), randoms({{4, 3}, {3, 2}, {2}}), 0,
                   [](const auto &in) {
                     Array y{{4, 2}, std::vector<double>(8)};
                     for (int64_t i = 0; i < 4; ++i)
                       for (int64_t j = 0; j < 2; ++j) {
                         double sum = in[2][j];
                         for (int64_t k = 0; k < 3; ++k) sum += in[0][i * 3 + k] * in[1][k * 2 + j];
                         y[i * 2 + j] = sum;
                       }
                     return std::vector<Array>{y};
                   }));
}

TEST(StatelessCall, OfALayerWithoutWeights) {
  check(
      layer_case("StatelessCall", call_of("Add", Json::object(), 2), randoms({{2, 3}, {2, 3}}), 0, [](const auto &in) {
        Array y = in[0];
        for (int64_t i = 0; i < 6; ++i) y[i] += in[1][i];
        return std::vector<Array>{y};
      }));
}

TEST(StatelessCall, Refuses) {
  const Json dense = call_of("Dense", {{"units", 2}});
  expect_config_refusal("StatelessCall", {{"layer", nullptr}}, Code::invalid_argument, "\"layer\": expected a layer");
  expect_config_refusal("StatelessCall", Json::object(), Code::invalid_argument, "\"layer\" is missing");
  expect_call_refusal("StatelessCall", dense, {{4, 3}, {4, 2}, {2}},
                      "input 1: expected float32 (3, 2) for weight \"dense/kernel\", got float32 (4, 2)");
  expect_call_refusal("StatelessCall", dense, {{4, 3}, {3, 2}},
                      "expected a value for weight \"dense/bias\" with shape (2,) as input 2, got 2 inputs",
                      Code::invalid_argument);
  expect_call_refusal("StatelessCall", dense, {{4, 3}, {3, 2}, {2}, {2}},
                      "expected 2 values for the weights of \"dense\", got 3", Code::invalid_argument);
  expect_call_refusal("StatelessCall", call_of("Dense", {{"units", 2}}, 2), {{4, 3}}, "expected 2 inputs, got 1",
                      Code::invalid_argument);
}

// Moving statistics have no place to be kept.
TEST(StatelessCall, RefusesALayerThatWritesInTraining) {
  LayerCall l("StatelessCall", call_of("BatchNormalization", Json::object()));
  const std::vector<Symbol> in = {l.input({4, 3}), l.input({3}), l.input({3}), l.input({3}), l.input({3})};
  EXPECT_EQ(l.shape(l.call(in)[0]), Shape({4, 3}));
  expect_refusal(Code::unsupported, "writes weight \"batch_normalization/moving_mean\"", [&] { l.call(in, {}, true); });
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
