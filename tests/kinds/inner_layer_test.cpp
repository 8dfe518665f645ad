// A layer as an attribute of a layer: its JSON, its weights, its random numbers, its mistakes.
#include "kinds/layer.hpp"

#include <set>

#include "kinds/layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using kinds::Call;
using kinds::Fields;
using kinds::InnerLayer;

// Runs its layer twice, one behind the other, then each of its list.
struct Twice : kinds::Layer {
  static constexpr const char *doc = "A layer, twice.";
  InnerLayer layer;
  std::vector<InnerLayer> more;
  void fields(Fields &f) override {
    f("layer", layer, "the layer").required();
    f("more", more, "others");
  }
  kinds::Facts facts() const override {
    return kinds::PlainFacts{.inputs = {{"x", "(B, F)"}}, .outputs = {{"y", "(B, F)"}}};
  }
  std::vector<Symbol> call(Call &c) const override {
    std::vector<Symbol> s = c.run(layer, c.run(layer, c.in));
    for (const InnerLayer &other : more) s = c.run(other, s);
    return s;
  }
};

const kinds::Entry twice = kinds::entry_for<Twice>("Twice");

LayerCall twice_of(const Json &layer, const Json &more = Json::array()) {
  LayerCall l("Dense", {{"units", 1}});
  l.layer = std::static_pointer_cast<const kinds::Layer>(twice.make({{"layer", layer}, {"more", more}}));
  return l;
}

Json dense(const Json &config = Json::object()) {
  Json all{{"units", 4}};
  all.update(config);
  return {{"class_name", "Dense"}, {"config", all}};
}

TEST(InnerLayer, ItsWeightsStandUnderItsNameOnce) {
  LayerCall l = twice_of(dense({{"name", "first"}}),
                         Json::array({dense({{"use_bias", false}}), dense({{"name", "last"}, {"trainable", false}})}));
  l.call({l.input({free_dim, 4})});
  std::vector<std::string> names;
  for (const auto &spec : l.specs) names.push_back(spec.name + (spec.frozen ? " frozen" : ""));
  EXPECT_EQ(names, (std::vector<std::string>{"first/kernel", "first/bias", "dense/kernel", "last/kernel frozen",
                                             "last/bias frozen"}));
}

TEST(InnerLayer, OthersOfItsNameInItsListAreNumbered) {
  LayerCall l =
      twice_of(dense({{"name", "first"}}), Json::array({dense(), dense(), dense({{"name", "dense_1"}}), dense()}));
  l.call({l.input({free_dim, 4})});
  std::vector<std::string> names;
  for (const auto &spec : l.specs)
    if (spec.name.ends_with("kernel")) names.push_back(spec.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first/kernel", "dense/kernel", "dense_1/kernel", "dense_1_1/kernel",
                                             "dense_2/kernel"}));
}

TEST(InnerLayer, ItsConfigComesBackWithNameAndTrainable) {
  const Json as_keras{{"module", "keras.layers"},
                      {"class_name", "Dense"},
                      {"config", {{"name", "inside"}, {"trainable", false}, {"dtype", "float32"}, {"units", 4}}},
                      {"registered_name", nullptr},
                      {"build_config", {{"input_shape", {nullptr, 4}}}}};
  const Json config = twice_of(as_keras, Json::array({"Flatten"})).layer->config();
  EXPECT_EQ(config["layer"]["class_name"], "Dense");
  EXPECT_EQ(config["layer"]["config"]["name"], "inside");
  EXPECT_EQ(config["layer"]["config"]["trainable"], false);
  EXPECT_EQ(config["layer"]["config"]["units"], 4);
  EXPECT_EQ(config["more"][0]["config"]["name"], "flatten");
  EXPECT_EQ(config["more"][0]["config"]["trainable"], true);
  EXPECT_EQ(twice.make(config)->config(), config);
  const Json field = twice.describe()["attributes"][0], list = twice.describe()["attributes"][1];
  EXPECT_EQ(field["type"], "layer");
  EXPECT_EQ(field["category"], "layer");
  EXPECT_EQ(list["type"], "layers");
}

// As Keras's: a layer with a seed of its own goes on at each call, and starts as any other of that seed.
TEST(InnerLayer, DrawsAnewAtEachCallAndUnderEachName) {
  for (const Json &seed : {Json(nullptr), Json(7)}) {
    const Json drop{{"class_name", "Dropout"}, {"config", {{"rate", 0.5}, {"seed", seed}}}};
    Json other = drop;
    other["config"]["name"] = "other";
    LayerCall l = twice_of(drop, Json::array({other}));
    l.seeds = 10;
    l.call({l.input({free_dim, 4})}, {}, true);
    std::set<std::string> keys;
    for (const auto &step : l.program.steps)
      if (step.op->name() == "random_keep") keys.insert(to_string(step.op->attributes()));
    EXPECT_EQ(keys.size(), seed.is_null() ? 3u : 2u);
  }
}

TEST(InnerLayer, RefusesWhatDoesNotFit) {
  const auto refused = [](const Json &layer, const Json &more, const std::string &words,
                          Code code = Code::invalid_argument) {
    expect_refusal(code, words, [&] {
      LayerCall l = twice_of(layer, more);
      l.call({l.input({free_dim, 4})});
    });
  };
  refused("Dens", Json::array(), "\"layer\": unknown layer \"Dens\"; did you mean \"Dense\"?", Code::unknown_kind);
  refused(dense({{"unit", 1}}), Json::array(), "\"layer\": Dense: unknown attribute \"unit\"");
  refused(dense({{"name", "a/b"}}), Json::array(), "\"layer\": \"name\": expected 1 to 1024 bytes without a slash");
  refused(dense({{"name", ""}}), Json::array(), "\"layer\": \"name\": expected 1 to 1024 bytes");
  refused(dense({{"name", 3}}), Json::array(), "\"layer\": \"name\": expected a string, got 3");
  refused(dense({{"trainable", 1}}), Json::array(), "\"trainable\": expected true or false, got 1");
  refused(dense(), {{"a", 1}}, "\"more\": expected a list of layers");
  refused(dense(), Json::array({nullptr}), "\"more\": expected a layer, got null");
  refused(dense(), Json::array({dense()}), "expected inner layers of different names, got two of \"dense\"");
  refused("Subtract", Json::array(), "inner layer \"subtract\": expected 2 inputs, got 1");
  refused("LSTM", Json::array(), "\"layer\": LSTM: attribute \"units\" is missing");
  refused({{"class_name", "LSTM"}, {"config", {{"units", 2}}}}, Json::array(),
          "inner layer \"lstm\": input 0 is incompatible with the layer: expected ndim=3", Code::shape_mismatch);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
