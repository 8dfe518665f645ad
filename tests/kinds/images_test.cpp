// Layers of images that Keras's files have: what trains is refused, what draws has its formula.
#include "graph/lower.hpp"
#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

std::shared_ptr<graph::Model> bent() {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const graph::Node x = g->input("x", DType::f32, Shape{free_dim, 4, 4, 3});
  const auto y = g->add("RandomElasticTransform", "bent", Json::object(), {}, {x});
  return std::make_shared<graph::Model>(g, std::vector<graph::Node>{x}, y);
}

TEST(Augmentations, RunAndRefuseToTrain) {
  EXPECT_NO_THROW(graph::inference(*bent()));
  expect_refusal(Code::unsupported, "layer \"bent\" (RandomElasticTransform): its training mode is not supported", [] {
    graph::InferenceOptions options;
    options.training = true;
    graph::inference(*bent(), options);
  });
}

TEST(Augmentations, WantWhatKerasWants) {
  expect_config_refusal("RandomZoom", Json::object(), Code::invalid_argument, "\"height_factor\" is missing");
  expect_config_refusal("RandomFlip", {{"factor", 1}}, Code::invalid_argument, "unknown attribute \"factor\"");
}

TEST(Resizing, Refuses) {
  expect_config_refusal("Resizing", {{"height", 2}, {"width", 2}, {"interpolation", "area"}}, Code::unsupported,
                        "area");
  expect_config_refusal("Resizing", {{"height", 2}, {"width", 2}, {"pad_to_aspect_ratio", true}}, Code::unsupported,
                        "only false is supported");
  expect_call_refusal("Resizing", {{"height", 2}, {"width", 2}}, {{2, free_dim, 3, 1}},
                      "images of a known size, at least 1");
  expect_call_refusal("Resizing", {{"height", 2}, {"width", 2}}, {{2, 0, 3, 1}}, "of a known size, at least 1");
  expect_call_refusal("CenterCrop", {{"height", 2}, {"width", 2}}, {{2, 3, 0, 1}}, "of a known size, at least 1");
  expect_call_refusal("UpSampling2D", {{"interpolation", "bicubic"}}, {{2, 0, 3, 1}}, "of a known size, at least 1");
  expect_call_refusal("UpSampling2D", {{"interpolation", "bicubic"}}, {{2, free_dim, 3, 1}},
                      "images of a known size, at least 1");
}

TEST(StochasticDepth, DropsWholeSamplesInTraining) {
  auto layer = std::static_pointer_cast<const kinds::Layer>(
      kinds::find("layer", "StochasticDepth").make({{"drop_path_rate", 0.25}}));
  const std::vector<Tensor> x = randoms({{400, 3}});
  const Program p = program_of(one([&](Emit &e, const auto &in) {
                                 GivenWeights host({}, e);
                                 const kinds::Arguments none;
                                 kinds::Call call(e, host, {{in[0]}}, none, true);
                                 return layer->call(call)[0].value;
                               }),
                               x);
  const std::vector<double> y = values(evaluate(p, x).outputs[0]), from = values(x[0]);
  int kept = 0;
  for (size_t i = 0; i < 400; ++i) {
    const bool is_kept = y[3 * i] != 0;
    kept += is_kept;
    for (size_t k = 3 * i; k < 3 * i + 3; ++k) EXPECT_NEAR(y[k], is_kept ? from[k] / 0.75 : 0, 1e-6) << k;
  }
  EXPECT_NEAR(kept, 300, 40);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
