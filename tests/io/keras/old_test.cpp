// What Keras 1 and 2 said, in the words of Keras 3, and what of it is refused.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/formats.hpp"
#include "io/keras/json.hpp"

namespace dl4::io::DL4_FILE {
namespace {

// A layer as it stands in a Sequential of that version.
Json now(const char *class_name, Json config, int major) {
  config["name"] = "it";
  const Json model{{"class_name", "Sequential"},
                   {"config", Json::array({{{"class_name", class_name}, {"config", std::move(config)}}})}};
  return Json(keras::modern(model, major)["config"]["layers"][0]);
}

void expect_refusal(const char *class_name, const Json &config, const std::string &words) {
  try {
    now(class_name, config, 1);
    ADD_FAILURE() << "it was not refused: " << words;
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::unsupported) << e.message;
    EXPECT_NE(e.message.find("layer \"it\": " + words), std::string::npos) << e.message;
  }
}

TEST(KerasOld, WordsOfKeras1AreThoseOfKeras3) {
  Json conv = now("Convolution2D",
                  {{"nb_filter", 4}, {"nb_row", 3}, {"nb_col", 2}, {"border_mode", "same"}, {"dim_ordering", "tf"}}, 1);
  EXPECT_EQ(conv["class_name"].get<std::string>(), "Conv2D");
  EXPECT_EQ(conv["config"]["filters"].get<int64_t>(), 4);
  EXPECT_EQ(conv["config"]["kernel_size"].dump(), "[3,2]");
  EXPECT_EQ(conv["config"]["padding"].get<std::string>(), "same");
  EXPECT_EQ(conv["config"]["data_format"].get<std::string>(), "channels_last");
  Json merge = now("Merge", {{"mode", "concat"}, {"concat_axis", 1}}, 1);
  EXPECT_EQ(merge["class_name"].get<std::string>(), "Concatenate");
  EXPECT_EQ(merge["config"]["axis"].get<int64_t>(), 1);
  EXPECT_EQ(now("Merge", {{"mode", "ave"}}, 1)["class_name"].get<std::string>(), "Average");
  Json embedding = now("Embedding", {{"input_dim", 9}, {"output_dim", 2}, {"init", "uniform"}, {"dropout", 0.0}}, 1);
  EXPECT_EQ(embedding["config"]["output_dim"].get<int64_t>(), 2);
  EXPECT_EQ(embedding["config"]["input_dim"].get<int64_t>(), 9);
  EXPECT_EQ(embedding["config"]["embeddings_initializer"].get<std::string>(), "uniform");
}

TEST(KerasOld, TheSameWordMeansWhatItMeantThen) {
  for (const int major : {1, 2, 3}) {
    const Json gru = now("GRU", {{"units", 2}, {"recurrent_activation", "hard_sigmoid"}}, major);
    const Json &config = *gru.find("config");
    EXPECT_EQ(config.value("recurrent_activation", "").get<std::string>(),
              major < 3 ? "hard_sigmoid_v1" : "hard_sigmoid");
    EXPECT_EQ(config.contains("reset_after"), major < 3);
    EXPECT_FALSE(major < 3 && config.value("reset_after", true).get<bool>());
  }
  const Json cudnn = now("CuDNNGRU", {{"units", 2}}, 2);
  EXPECT_EQ(cudnn.find("class_name")->get<std::string>(), "GRU");
  EXPECT_TRUE(cudnn.find("config")->value("reset_after", false).get<bool>());
}

TEST(KerasOld, WhatHasNoEffectGoesAndOtherNamesAreThoseOfKeras3) {
  const std::tuple<const char *, const char *, const char *, const char *> all[] = {
      {"LSTM", R"({"time_major": false, "implementation": 1})", "LSTM", "{}"},
      {"DepthwiseConv2D", R"({"groups": 1})", "DepthwiseConv2D", "{}"},
      {"Conv2D", R"({"groups": 1})", "Conv2D", R"({"groups":1})"},
      {"SeparableConv1D", R"({"kernel_initializer": "zeros"})", "SeparableConv1D", "{}"},
      {"LeakyReLU", R"({"alpha": 0.25})", "LeakyReLU", R"({"negative_slope":0.25})"},
      {"ThresholdedReLU", R"({"theta": 2.0})", "Activation",
       R"({"activation":{"class_name":"threshold","config":{"threshold":2.0,"default_value":0.0}}})"},
      {"BatchNormalizationV2", R"({"axis": [3]})", "BatchNormalization", R"({"axis":3})"},
      {"InputLayer", R"({"batch_input_shape": [null, 3]})", "InputLayer", R"({"batch_shape":[null,3]})"},
  };
  for (const auto &[then, config, name, expected] : all) {
    Json j = now(then, Json::parse(config), 2);
    EXPECT_EQ(j["class_name"].get<std::string>(), name);
    Json left = j["config"];
    left.erase("name");
    EXPECT_EQ(left.dump(), expected) << then;
  }
  EXPECT_THROW(now("RandomCrop", {{"height", 2}, {"width", 2}}, 2), Error);
}

// A model's own node was its first wherever its calls were read; and a recurrent layer used the mask of its input also
// with initial states.
TEST(KerasOld, CallsOfModelsAndMasksOfKeras2) {
  const Json old = Json::parse(R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_input_shape": [null, 4, 3]}, "inbound_nodes": []},
    {"class_name": "Sequential", "name": "inner", "config": {"name": "inner", "layers": []}, "inbound_nodes": [[["x", 0, 0, {}]]]},
    {"class_name": "GRU", "name": "gru", "config": {"name": "gru", "units": 3}, "inbound_nodes":
      [[["inner", 1, 0, {"initial_state": ["h", 0, 0]}]]]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["inner", 1, 0]]}})");
  const Json modern = keras::modern(old, 2);
  const Json &config = modern.at("config"), &layers = config.at("layers");
  EXPECT_EQ(config.at("output_layers").dump(), R"([["inner",0,0]])");
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers[2].at("name").dump(), R"("gru__mask")");
  const Json &node = layers[3].at("inbound_nodes")[0];
  EXPECT_NE(node.at("args").dump().find(R"("keras_history":["inner",0,0])"), std::string::npos) << node.dump();
  EXPECT_NE(node.at("kwargs").at("mask").dump().find(R"("keras_history":["gru__mask",0,0])"), std::string::npos);
}

TEST(KerasOld, WhatHasNoLikeIsRefused) {
  expect_refusal("Convolution2D", {{"nb_filter", 4}, {"nb_row", 3}, {"nb_col", 2}, {"dim_ordering", "th"}},
                 "the dim_ordering \"th\" of a convolution of Keras 1");
  expect_refusal("Merge", {{"mode", "cos"}}, "the mode \"cos\" of a Merge of Keras 1");
  expect_refusal("BatchNormalization", {{"mode", 1}}, "the mode 1 of Keras 1");
  expect_refusal("Embedding", {{"input_dim", 9}, {"output_dim", 2}, {"dropout", 0.5}}, "the dropout of an Embedding");
  expect_refusal("Dense", {{"output_dim", 2}, {"W_regularizer", {{"name", "EigenvalueRegularizer"}, {"k", 1}}}},
                 "\"EigenvalueRegularizer\" of Keras 1");
}

TEST(KerasOld, TheOldHardSigmoidIsNotSavedForKeras3) {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const graph::Node x = g->input("x", DType::f32, Shape{free_dim, 3});
  const auto y = g->add("Dense", "it", {{"units", 2}, {"activation", "hard_sigmoid_v1"}}, {}, {x});
  try {
    save_model(graph::Model(g, {x}, y), format_of(".keras"));
    ADD_FAILURE() << "it was saved";
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::unsupported);
    EXPECT_NE(e.message.find("layer \"it\": \"activation\": hard_sigmoid_v1"), std::string::npos) << e.message;
  }
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
