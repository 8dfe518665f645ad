// What Keras's JSON says of layers and their calls, as an architecture.
#include "io/keras/json.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/keras/operations.hpp"

namespace dl4::io::keras::DL4_FILE {
namespace {

using Layer = Architecture::Layer;

Json tensor_of(const std::string &layer) {
  return {{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", Json::array({layer, 0, 0})}}}};
}
Json numbers(const char *values, const char *class_name = "__numpy__") {
  return {{"class_name", class_name}, {"config", {{"value", Json::parse(values)}, {"dtype", "float64"}}}};
}
Json input_layer(const std::string &name, const char *dtype) {
  return {{"class_name", "InputLayer"},
          {"config", {{"name", name}, {"batch_shape", Json::array({nullptr, 3})}, {"dtype", dtype}}},
          {"inbound_nodes", Json::array()}};
}

// The layers that a model of the inputs a and b has behind them, of which the last is this one.
std::vector<Layer> layers_of(const std::string &class_name, const Json &config, const Json &args,
                             const Json &kwargs = Json::object(), const char *module = "keras.layers") {
  Json layer{{"module", module}, {"class_name", class_name}, {"config", config}};
  layer["config"]["name"] = "it";
  layer["inbound_nodes"] = Json::array({{{"args", args}, {"kwargs", kwargs}}});
  const Json all = Json::array({input_layer("a", "float16"), input_layer("b", "int32"), layer});
  const Json ends = Json::array({Json::array({"a", 0, 0}), Json::array({"b", 0, 0})});
  const Architecture a = architecture_of(
      {{"class_name", "Functional"},
       {"config", {{"layers", all}, {"input_layers", ends}, {"output_layers", Json::array({"it", 0, 0})}}}});
  EXPECT_EQ(a.layers[0].dtype, DType::f32) << "computed in float32";
  EXPECT_EQ(a.layers[1].dtype, DType::i32);
  return {a.layers.begin() + 2, a.layers.end()};
}

std::string inputs(const Layer &l) {
  std::string s;
  for (const auto &ref : l.calls[0].inputs) s += text(s.empty() ? "" : " ", ref.of.layer);
  return s;
}

std::string refused(const Json &args) {
  try {
    layers_of("Add", Json::object(), args);
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::corrupt_file);
    return e.message;
  }
  return "";
}

TEST(KerasJson, InputsAreInTheOrderOfKerassSignatures) {
  const Json a = tensor_of("a"), b = tensor_of("b");
  EXPECT_EQ(inputs(layers_of("Add", Json::object(), Json::array({Json::array({b, a})}))[0]), "b a");
  EXPECT_EQ(inputs(layers_of("Custom", Json::object(), Json::array({{{"z", a}, {"y", b}}}))[0]), "b a") << "by key";
  const Layer l = layers_of("Attention", Json::object(), Json::array(),
                            {{"value", b},
                             {"query", a},
                             {"training", true},
                             {"use_causal_mask", true},
                             {"key", nullptr},
                             {"mask", Json::array({nullptr, b})}})[0];
  EXPECT_EQ(inputs(l), "a b");
  EXPECT_EQ(l.calls[0].arguments.dump(), R"({"use_causal_mask":true})") << "the model says whether it trains";
  const auto &mask = l.calls[0].values.at("mask");
  ASSERT_EQ(mask.size(), 2u);
  EXPECT_FALSE(mask[0]);
  EXPECT_EQ(mask[1]->of.layer, "b");
}

TEST(KerasJson, ArraysAmongTheArgumentsAreConstants) {
  const auto layers =
      layers_of("Add", Json::object(),
                Json::array({Json::array({tensor_of("a"), numbers("[1, 2, 3]"), numbers("4", "__tensor__")})}));
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(inputs(layers[2]), "a it__constant it__constant_1");
  EXPECT_EQ(layers[0].constant.shape, Shape{3});
  EXPECT_EQ(layers[0].constant.dtype, DType::f32);
  EXPECT_EQ(layers[1].constant.shape, Shape{});
  EXPECT_NE(refused(Json::array({numbers("[[1], [2, 3]]")})).find("expected numbers in lists of one size, got"),
            std::string::npos);
  EXPECT_EQ(refused(Json::array({3})), "expected a tensor as positional argument, got 3");
}

TEST(KerasJson, ArgumentsOfOperationsKeepTheirNesting) {
  const Json a = tensor_of("a"), slice{{"class_name", "__slice__"}, {"config", {{"start", 1}}}};
  const Layer l = layers_of("GetItem", Json::object(), Json::array({a, Json::array({slice, a})}), {{"d", {{"x", a}}}},
                            "keras.src.ops.numpy")[0];
  EXPECT_EQ(l.role, Architecture::Role::operation);
  EXPECT_EQ(
      l.calls[0].arguments.dump(),
      R"({"args":[{"tensor":0},[{"class_name":"__slice__","config":{"start":1}},{"tensor":1}]],"kwargs":{"d":{"x":{"tensor":2}}}})");
}

TEST(KerasJson, ProductsAloneAreNarrowAndInnerLayersSayForThemselves) {
  const auto config = [](const char *class_name, const char *json) {
    return layers_of(class_name, Json::parse(json), Json::array({tensor_of("a")}))[0].config;
  };
  EXPECT_EQ(config("Dense", R"({"dtype": "mixed_bfloat16"})")["dtype"].dump(), R"("mixed_bfloat16")");
  EXPECT_EQ(config("Dense", R"({"dtype": "float64"})")["dtype"].dump(), R"("float32")");
  const Json outer = config("RNN", R"({"dtype": "mixed_bfloat16", "cell": {"class_name": "StackedRNNCells", "config":
      {"dtype": "float32", "cells": [{"class_name": "GRUCell", "config": {"dtype": "mixed_bfloat16"}},
      {"class_name": "LSTMCell", "config": {"dtype": "bfloat16"}}]}}})");
  EXPECT_EQ(outer["dtype"].dump(), R"("float32")");
  EXPECT_EQ(outer["cell"]["config"]["cells"][0]["config"]["dtype"].dump(), R"("mixed_bfloat16")");
  EXPECT_EQ(outer["cell"]["config"]["cells"][1]["config"]["dtype"].dump(), R"("float32")");
  const Json pipeline =
      config("Pipeline", R"({"layers": [{"class_name": "Rescaling", "config": {"dtype": "float16"}}]})");
  EXPECT_EQ(pipeline["layers"][0]["config"]["dtype"].dump(), R"("float32")");
}

TEST(KerasJson, LayersOfKerasByOtherNames) {
  const Json args = Json::array({tensor_of("a")});
  EXPECT_EQ(layers_of("TFDConcat", Json::object(), args)[0].class_name, "Concatenate");
  EXPECT_EQ(layers_of("TFDIdentity", Json::object(), args)[0].class_name, "Identity");
}

TEST(KerasJson, NumbersHaveTheTypeThatPythonGivesThem) {
  for (const auto &[json, dtype] : {std::pair{"[1, 2]", DType::i32},
                                    {"[1, 2.5]", DType::f32},
                                    {R"([1, "NaN"])", DType::f32},
                                    {"[true]", DType::boolean},
                                    {"[]", DType::f32}})
    EXPECT_EQ(numbers_of(Json::parse(json))->dtype, dtype) << json;
}

// Operations carry no masks; of a list of tensors they have the type that NumPy gives them.
TEST(KerasJson, OperationsAreLayersOfTheirOwnNames) {
  graph::Graph g{graph::Settings{}};
  const graph::Node x = g.input("x", DType::f32, {free_dim, 4, 3}), n = g.input("n", DType::i32, {free_dim, 4, 3});
  const graph::Node masked = g.add("Masking", "", Json::object(), {}, {x})[0];
  const auto add = [&](const char *class_name, const char *args, const char *kwargs, std::vector<graph::Node> in,
                       int64_t call = 0) {
    Layer l;
    l.name = "op", l.class_name = class_name;
    return add_operation(g, l, call, {{"args", Json::parse(args)}, {"kwargs", Json::parse(kwargs)}}, in)[0];
  };
  const graph::Node softmax = add("Softmax", R"([{"tensor": 0}])", "{}", {masked});
  EXPECT_TRUE(g.masked(masked));
  EXPECT_FALSE(g.masked(softmax));
  EXPECT_EQ(g.layers().back().name, "op");
  const graph::Node joined = add("Concatenate", R"([[{"tensor": 0}, {"tensor": 1}]])", R"({"axis": 1})", {n, x}, 1);
  EXPECT_EQ(g.dtype(joined), DType::f32);
  EXPECT_EQ(g.shape(joined), (Shape{free_dim, 8, 3}));
  EXPECT_EQ(g.layers().back().name, "op__call_1");
  EXPECT_EQ(g.shape(add("Sum", R"([{"tensor": 0}])", R"({"axis": null})", {x}, 2)), Shape{});
  EXPECT_THROW(add("Sum", R"([{"tensor": 0}])", R"({"axis": {"tensor": 1}})", {x, n}, 3), Error);
  EXPECT_FALSE(is_operation({{"class_name", "SpatialDropout1D"}, {"config", {{"rate", 0.5}}}})) << "in old files";
}

TEST(KerasJson, ShapesHaveAtMostEightDims) {
  EXPECT_EQ(shape_of(Json::array({nullptr, 3})), (Shape{free_dim, 3}));
  EXPECT_THROW(shape_of(Json::parse("[1, 1, 1, 1, 1, 1, 1, 1, 1]")), Error);
  EXPECT_THROW(shape_of(Json::array({"3"})), Error);
}

}  // namespace
}  // namespace dl4::io::keras::DL4_FILE
