// Models inside models of Keras.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/model.hpp"
#include "io/keras/file.hpp"

namespace dl4::io::DL4_FILE {
namespace {

const char *const inner_sequential = R"({"name": "inner", "dtype": {"module": "keras", "class_name": "DTypePolicy",
    "config": {"name": "float32"}, "registered_name": null}, "layers": [
    {"module": "keras.layers", "class_name": "InputLayer", "registered_name": null, "config": {"batch_shape": [null, 3],
     "dtype": "float32", "sparse": false, "ragged": false, "name": "input_layer_1", "optional": false}},
    {"module": "keras.layers", "class_name": "Dense", "build_config": {"input_shape": [null, 3]},
     "config": {"name": "d", "trainable": true, "units": 2, "activation": "linear", "quantization_config": null}}],
    "build_input_shape": [null, 3]})";
const char *const inner_functional = R"({"name": "both", "input_layers": [["a", 0, 0], ["b", 0, 0]],
    "output_layers": [["lstm", 0, 0]], "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4, 3], "dtype": "float32", "name": "a"}, "name": "a",
     "inbound_nodes": []},
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "dtype": "float32", "name": "b"}, "name": "b",
     "inbound_nodes": []},
    {"class_name": "LSTM", "config": {"name": "lstm", "trainable": true, "units": 2}, "name": "lstm", "inbound_nodes": [
     {"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 4, 3], "dtype": "float32",
       "keras_history": ["a", 0, 0]}}],
      "kwargs": {"training": false, "mask": null, "initial_state": [
       {"class_name": "__keras_tensor__", "config": {"keras_history": ["b", 0, 0]}},
       {"class_name": "__keras_tensor__", "config": {"keras_history": ["b", 0, 0]}}]}}]}]})";

// A Functional whose only layer, which reads all inputs of these shapes, has this class and config.
graph::Model around(const char *class_name, const Json &config, const std::vector<Json> &shapes) {
  Json layers = Json::array(), inputs = Json::array(), args = Json::array();
  for (const Json &shape : shapes) {
    const std::string name = text("x", layers.size());
    layers.push_back({{"class_name", "InputLayer"},
                      {"name", name},
                      {"config", {{"name", name}, {"batch_shape", shape}, {"dtype", "float32"}}},
                      {"inbound_nodes", Json::array()}});
    inputs.push_back(Json::array({name, 0, 0}));
    args.push_back({{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", Json::array({name, 0, 0})}}}});
  }
  layers.push_back({{"module", "keras"},
                    {"class_name", class_name},
                    {"name", "it"},
                    {"config", config},
                    {"inbound_nodes", Json::array({{{"args", args}, {"kwargs", Json::object()}}})}});
  layers[shapes.size()]["config"]["name"] = "it";
  // A Functional's calls are counted from 1 where it is an output.
  const Json output = Json::array({"it", class_name == std::string_view("Functional") ? 1 : 0, 0});
  const Json model{
      {"class_name", "Functional"},
      {"config", {{"layers", layers}, {"input_layers", inputs}, {"output_layers", Json::array({output})}}}};
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  std::vector<graph::Node> in, out;
  g->merge(read_architecture(model), &in, &out);
  return graph::Model(std::move(g), std::move(in), std::move(out));
}

Shape output_shape(const graph::Model &m) { return m.graph().shape(m.outputs()[0]); }

void expect_refusal(const Json &config, const std::string &words) {
  try {
    around("Sequential", config, {Json::array({nullptr, 3})});
    ADD_FAILURE() << "it was not refused: " << words;
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::invalid_argument) << e.message;
    EXPECT_NE(e.message.find("layer \"it\": " + words), std::string::npos) << e.message;
  }
}

TEST(KerasNested, SequentialModelsAreLayers) {
  const graph::Model m = around("Sequential", Json::parse(inner_sequential), {Json::array({nullptr, 3})});
  EXPECT_EQ(output_shape(m), (Shape{free_dim, 2}));
  EXPECT_EQ(m.weights()[0]->name, "it/d/kernel");
  Json unnamed = Json::parse(inner_sequential);
  unnamed["layers"] = Json::array({Json(unnamed["layers"][1])});
  EXPECT_EQ(output_shape(around("Sequential", unnamed, {Json::array({nullptr, 3})})), (Shape{free_dim, 2}));
  unnamed.erase("build_input_shape");
  expect_refusal(unnamed, "a Sequential of unknown input shape");
}

TEST(KerasNested, FunctionalModelsAreLayers) {
  const graph::Model m =
      around("Functional", Json::parse(inner_functional), {Json::array({nullptr, 4, 3}), Json::array({nullptr, 2})});
  EXPECT_EQ(output_shape(m), (Shape{free_dim, 2}));
  const Json layers = graph::to_json(m.architecture())["layers"];
  EXPECT_TRUE(layers[2]["config"].contains("model"));
  EXPECT_FALSE(layers[2]["config"].contains("layers"));
}

TEST(KerasNested, ModelsInsideWrappersAreLayers) {
  const Json net{{"class_name", "Sequential"}, {"config", Json::parse(inner_sequential)}};
  const graph::Model m = around("TimeDistributed", {{"layer", net}}, {Json::array({nullptr, 5, 3})});
  EXPECT_EQ(output_shape(m), (Shape{free_dim, 5, 2}));
  EXPECT_EQ(m.weights()[0]->name, "it/inner/d/kernel");
}

TEST(KerasNested, Refusals) {
  expect_refusal({{"layers", 3}}, "expected a list of layers, got 3");
  expect_refusal({{"layers", Json::array()}}, "a Sequential without layers");
  expect_refusal(Json::object(), "\"model\": expected an architecture, got null");
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
