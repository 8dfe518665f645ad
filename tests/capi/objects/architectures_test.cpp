// Architectures in JSON: Keras's words, and all that is refused at once.
#include <gtest/gtest.h>

#include <dl4/dl4.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace DL4_FILE {
namespace {

using Json = nlohmann::json;

const char *const keras_sequential = R"({"module": "keras", "class_name": "Sequential", "config": {"name": "net",
  "trainable": true, "layers": [
    {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 4], "dtype": "float32",
      "name": "x"}, "registered_name": null},
    {"module": "keras.layers", "class_name": "Dense", "config": {"name": "hidden", "units": 3, "activation": "relu"},
      "registered_name": null},
    {"module": "keras.layers", "class_name": "Dense", "config": {"name": "answer", "units": 2},
      "registered_name": null}]},
  "registered_name": null, "build_config": {"input_shape": [null, 4]}})";

dl4::Model built(const std::string &json) {
  dl4::Graph g;
  dl4::check(dl4_graph_add_json(g, json.c_str()));
  return g.build({}, {});
}

TEST(Architectures, OfKerasAreMerged) {
  const dl4::Model m = built(keras_sequential);
  EXPECT_EQ(m.weight_names(),
            (std::vector<std::string>{"hidden/kernel", "hidden/bias", "answer/kernel", "answer/bias"}));
  EXPECT_EQ(m.weight("hidden/kernel").dims(), (dl4::Dims{4, 3}));
  EXPECT_EQ(built(m.describe(DL4_FORMAT_JSON)).describe(DL4_FORMAT_JSON), m.describe(DL4_FORMAT_JSON));
}

TEST(Architectures, OfKerasAreRefusedAsArguments) {
  for (const char *json : {"{}", R"({"class_name": 3})", R"({"class_name": "Sequential"})",
                           R"({"class_name": "Sequential", "config": {"layers": []}})"}) {
    dl4::Graph g;
    dl4_error *e = dl4_graph_add_json(g, json);
    EXPECT_EQ(dl4_error_code(e), DL4_INVALID_ARGUMENT) << json << dl4_error_message(e);
    dl4_release(e);
  }
  dl4::Graph g;
  dl4_error *e = dl4_graph_add_json(g, R"({"class_name": "MyModel", "config": {}})");
  EXPECT_EQ(dl4_error_code(e), DL4_UNSUPPORTED) << dl4_error_message(e);
  dl4_release(e);
}

// What merging a net with these classes in place of Dense says.
dl4::Error refusal(const std::vector<std::string> &classes) {
  Json net = Json::parse(keras_sequential);
  Json &layers = net["config"]["layers"];
  for (const std::string &name : classes) {
    Json layer = layers[1];
    layer["class_name"] = name;
    layer["config"]["name"] = "layer_" + std::to_string(layers.size());
    layers.push_back(layer);
  }
  try {
    built(net.dump());
  } catch (const dl4::Error &error) {
    return error;
  }
  return {"none", DL4_OK, "{}"};
}

TEST(Architectures, AllLayersThatAreRefusedAreNamed) {
  const dl4::Error one = refusal({"Unheard"});
  EXPECT_EQ(one.code, DL4_UNKNOWN_KIND);
  EXPECT_EQ(std::string(one.what()).find("refused too"), std::string::npos) << one.what();
  EXPECT_FALSE(Json::parse(one.detail).contains("also"));

  const dl4::Error all = refusal({"Unheard", "Dense", "Unseen", "Untold"});
  const std::string message = all.what();
  EXPECT_EQ(all.code, DL4_UNKNOWN_KIND);
  EXPECT_EQ(Json::parse(all.detail).at("layer"), "layer_3");
  EXPECT_EQ(Json::parse(all.detail).at("also"), R"("layer_5" (Unseen), "layer_6" (Untold))");
  EXPECT_NE(message.find(R"("layer_3")"), std::string::npos) << message;
  EXPECT_NE(message.find(R"(; refused too: "layer_5" (Unseen), "layer_6" (Untold))"), std::string::npos) << message;

  const std::string many = refusal(std::vector<std::string>(30, "Unheard")).what();
  EXPECT_NE(many.find("and 9 more"), std::string::npos) << many;
}

}  // namespace
}  // namespace DL4_FILE
