// The registry: names, descriptions, configs that come back as they went in, and every layer called once.
#include <set>

#include "kinds/layer_call.hpp"
#include "kinds/metric.hpp"

namespace dl4::test {
namespace {

// A config that makes the kind: its required fields.
Json least_config(const kinds::Entry &e) {
  static const std::map<std::string, Json> values{
      {"units", 3},
      {"filters", 4},
      {"kernel_size", 2},
      {"pool_size", 2},
      {"rate", 0.5},
      {"input_dim", 5},
      {"output_dim", 3},
      {"target_shape", {-1, 2}},
      {"dims", {2, 1}},
      {"activation", "relu"},
      {"threshold", 1.0},
      {"default_value", 0.0},
      {"num_heads", 2},
      {"key_dim", 3},
      {"head_dim", 3},
      {"num_query_heads", 4},
      {"num_key_value_heads", 2},
      {"edge_units", 3},
      {"node_units", 2},
      {"window", 2},
      {"cell", {{"class_name", "GRUCell"}, {"config", {{"units", 2}}}}},
      {"cells", Json::array({Json{{"class_name", "LSTMCell"}, {"config", {{"units", 2}}}}})},
      {"layer", {{"class_name", "LSTM"}, {"config", {{"units", 2}}}}},
      {"n", 2},
      {"scale", 2.0},
      {"axis", 1},
      {"axes", 1},
      {"repeats", 2},
      {"output_size", 2},
      {"x_min", 0.0},
      {"x_max", 1.0},
      {"shape", {-1, 2}},
      {"start_indices", {0, 1}},
      {"equation", "abc,cd->abd"},
      {"output_shape", {4, 3}},
      {"recall", 0.5},
      {"precision", 0.5},
      {"num_classes", 3},
      {"target_class_ids", {0, 1}},
      {"sensitivity", 1},
      {"specificity", 0.5},
      {"stddev", 0.5},
      {"initial_learning_rate", 0.1},
      {"decay_steps", 10.0},
      {"first_decay_steps", 10.0},
      {"decay_rate", 0.5},
      {"boundaries", {10.0}},
      {"values", {0.1, 0.2}},
      {"schedule",
       {{"class_name", "CosineDecay"}, {"config", {{"initial_learning_rate", 0.1}, {"decay_steps", 10.0}}}}},
      {"filepath", "best.safetensors"},
      {"backup_dir", "backup"},
      {"states", {{"h", "y"}}},
      {"filename", "log.csv"},
      {"to", "int32"},
      {"metric", "mae"},
      {"height", 4},
      {"width", 4},
      {"factor", 0.3},
      {"height_factor", 0.2},
      {"width_factor", 0.2},
      {"subscripts", "abc,abd->acd"},
      {"init_values", 0.5},
      {"projection_dim", 4},
      {"drop_path_rate", 0.3},
      {"k", 2},
      {"pad_width", {{0, 0}, {1, 1}, {1, 0}}},
      {"loss", {{"class_name", "Huber"}, {"config", {{"reduction", "none"}}}}}};
  static const Json difference = Json::parse(R"({"format": 1, "name": "model", "layers": [
        {"class_name": "Input", "name": "t", "config": {"shape": [null, 3], "dtype": "float32"}},
        {"class_name": "Input", "name": "p", "config": {"shape": [null, 3], "dtype": "float32"}},
        {"class_name": "Subtract", "name": "d", "config": {}, "calls": [{"inputs": [["t", 0, 0], ["p", 0, 0]]}]}],
        "inputs": [["t", 0, 0], ["p", 0, 0]], "outputs": [["d", 0, 0]]})");
  Json config = Json::object();
  const Json described = e.describe();
  for (const Json &f : described["attributes"])
    if (f["required"].get<bool>()) {
      auto key = f["name"].get<std::string>();
      config[key] = key == "model" ? difference : values.at(key);
    }
  if (e.name == "TimeDistributed") config["layer"] = "Flatten";
  if (e.name == "LayerScale") config["projection_dim"] = 6;
  if (e.name == "ReshapeBatch") config["shape"] = {-1, 4, 6};
  if (e.name == "Weight") config["shape"] = {2, 3};
  if (e.name == "GetWeight") config["weight"] = "dense/kernel";
  if (e.name == "Gradients") config["sum"] = true;
  if (e.name == "SpectralNormalization") config["layer"] = Json{{"class_name", "Dense"}, {"config", {{"units", 2}}}};
  if (e.name == "Functional" && e.category == "layer")
    config["model"] = Json::parse(R"({"format": 1, "inputs": [["x", 0, 0]], "outputs": [["y", 0, 0]], "layers": [
        {"class_name": "Input", "name": "x", "config": {"shape": [null, 4, 6], "dtype": "float32"}},
        {"class_name": "Dense", "name": "y", "config": {"units": 2}, "calls": [{"inputs": [["x", 0, 0]]}]}]})");
  if (e.name == "GraphCell")
    config["model"] = Json::parse(R"({"format": 1, "inputs": [["x", 0, 0], ["h", 0, 0]], "outputs": [["y", 0, 0]],
        "layers": [{"class_name": "Input", "name": "x", "config": {"shape": [null, 6], "dtype": "float32"}},
                   {"class_name": "Input", "name": "h", "config": {"shape": [null, 3], "dtype": "float32"}},
                   {"class_name": "GRUCell", "name": "y", "config": {"units": 3},
                    "calls": [{"inputs": [["x", 0, 0]], "arguments": {"states": [["h", 0, 0]]}}]}]})");
  return config;
}

TEST(Registry, FindsByClassNameAliasAndLetters) {
  EXPECT_EQ(kinds::find("layer", "Conv2D").name, "Conv2D");
  EXPECT_EQ(kinds::find("layer", "conv2d").name, "Conv2D");
  EXPECT_EQ(kinds::find("layer", "max_pooling_2d").name, "MaxPooling2D");
  EXPECT_EQ(kinds::find("layer", "GlobalAvgPool1D").name, "GlobalAveragePooling1D");
  EXPECT_EQ(kinds::find("activation", "swish").name, "silu");
  EXPECT_EQ(kinds::find("metric", "LogCosh").name, "LogCoshError");
  EXPECT_EQ(kinds::find("initializer", "glorot_uniform").name, "GlorotUniform");
}

TEST(Registry, RefusesUnknownNames) {
  expect_refusal(Code::unknown_kind, "unknown layer \"Dence\"; did you mean \"Dense\"?",
                 [] { kinds::find("layer", "Dence"); });
  expect_refusal(Code::unknown_kind, "unknown layer \"\"", [] { kinds::find("layer", ""); });
  expect_refusal(Code::unknown_kind, "unknown category \"layers\"; did you mean \"layer\"?",
                 [] { kinds::find("layers", "Dense"); });
  expect_refusal(Code::unknown_kind, "unknown category \"x\"", [] { kinds::describe("x", ""); });
  expect_refusal(Code::unknown_kind, "unknown activation \"rleu\"; did you mean \"relu\"?", [] {
    LayerCall("Dense", {{"units", 1}, {"activation", "rleu"}});
  });
  expect_refusal(Code::unknown_kind, "\"kernel_initializer\": unknown initializer \"glorot_unifrom\"; did you mean",
                 [] {
                   LayerCall("Dense", {{"units", 1}, {"kernel_initializer", "glorot_unifrom"}});
                 });
}

// keras_names.hpp is compared with the real Keras by golden/remake.sh.
TEST(Registry, TellsArgumentsByPositionAsKeras) {
  const auto first = [](const char *category, const char *name, const char *key, size_t n) {
    const Json list = kinds::find(category, name).describe()[key];
    std::string words;
    for (size_t i = 0; i < std::min(n, list.size()); ++i) words += list[i].get<std::string>() + ' ';
    return words;
  };
  EXPECT_EQ(first("optimizer", "SGD", "positional", 4), "learning_rate momentum nesterov weight_decay ");
  EXPECT_EQ(first("layer", "Dense", "positional", 3), "units activation use_bias ");
  EXPECT_EQ(first("layer", "LSTM", "call_positional", 9), "sequences initial_state mask training ");
  EXPECT_EQ(first("loss", "Huber", "positional", 9), "delta reduction name dtype ");
  EXPECT_EQ(first("layer", "MatMul", "positional", 9), "transpose_a transpose_b ");  // no layer of Keras's
  EXPECT_EQ(kinds::find("metric", "mse").describe()["log_name"], "mean_squared_error");

  std::string elsewhere;  // attributes that Keras takes by name alone, or not at all
  for (const auto &category : kinds::categories()) {
    if (category == "activation") continue;
    for (const auto *e : kinds::entries(category)) {
      const Json described = e->describe();
      std::set<std::string> known;
      for (const Json &word : described["positional"]) known.insert(word.get<std::string>());
      for (const Json &f : described["attributes"])
        if (!known.count(f["name"].get<std::string>())) elsewhere += e->name + '.' + f["name"].get<std::string>() + ' ';
    }
  }
  EXPECT_EQ(elsewhere,
            "RandomBrightness.data_format RandomContrast.data_format Solarization.data_format "
            "LayerNormalization.rms_scaling "
            "Embedding.activity_regularizer ReversibleEmbedding.activity_regularizer EinsumDense.activity_regularizer "
            "LSTM.zero_output_for_mask LSTM.implementation "
            "GRU.zero_output_for_mask GRU.implementation SimpleRNN.zero_output_for_mask ConvLSTM1D.unroll "
            "ConvLSTM1D.zero_output_for_mask ConvLSTM2D.unroll ConvLSTM2D.zero_output_for_mask ConvLSTM3D.unroll "
            "ConvLSTM3D.zero_output_for_mask AdditiveAttention.seed "
            "Accuracy.by_shape BinaryCrossentropy.axis ");
}

TEST(Registry, TellsWhatKerasHasFromWhatNoOneKnows) {
  for (const char *name : {"IntegerLookup", "text_vectorization", "TextVectorization", "StringLookup"})
    expect_refusal(Code::unsupported, " is not in this version", [&] { kinds::find("layer", name); });
  expect_refusal(Code::unsupported, "callback TensorBoard is not in this version",
                 [] { kinds::find("callback", "TensorBoard"); });
  try {
    kinds::find("optimizer", "multi_optimizer");
  } catch (const Error &error) {
    EXPECT_EQ(error.detail, (std::vector<std::pair<std::string, std::string>>{{"category", "optimizer"},
                                                                              {"kind", "multi_optimizer"}}));
  }
  expect_refusal(Code::unknown_kind, "unknown layer \"GRUU\"", [] { kinds::find("layer", "GRUU"); });
}

TEST(Registry, RefusesWrongAttributes) {
  auto refused = [](const Json &config, const std::string &words, Code code = Code::invalid_argument) {
    expect_config_refusal("Dense", config, code, words);
  };
  refused({{"unit", 3}}, "unknown attribute \"unit\"; did you mean \"units\"?");
  refused({{"units", 3}, {"colour", 1}}, "unknown attribute \"colour\"");
  refused({{"units", 3}, {"lora_rank", 4}}, "unknown attribute \"lora_rank\"");
  refused(Json::object(), "attribute \"units\" is missing");
  refused({{"units", "3"}}, "\"units\": expected an integer, got \"3\"");
  refused({{"units", 3.0}}, "\"units\": expected an integer, got 3.0");
  refused({{"units", UINT64_MAX}}, "\"units\": expected an integer, got 18446744073709551615");
  refused({{"units", 0}}, "\"units\": expected at least 1, got 0");
  refused({{"units", 3}, {"use_bias", 1}}, "\"use_bias\": expected true or false, got 1");
  refused({{"units", 3}, {"activation", 1}}, "\"activation\": expected the name of an activation, got 1");
  refused({{"units", 3}, {"kernel_initializer", 7}}, "\"kernel_initializer\": expected a name or");
  refused({{"units", 3}, {"kernel_initializer", {{"config", Json::object()}}}}, "expected \"class_name\"");
  refused({{"units", 3}, {"kernel_initializer", {{"class_name", "Zeros"}, {"confg", 1}}}}, "unknown key \"confg\"");
  refused({{"units", 3}, {"kernel_initializer", {{"class_name", "Constant"}, {"config", {{"valu", 1}}}}}},
          "\"kernel_initializer\": Constant: unknown attribute \"valu\"; did you mean \"value\"?");
  refused({{"units", 3}, {"kernel_initializer", {{"class_name", "Zeros"}, {"version", 99}}}}, "has version 99",
          Code::version);
  refused({{"units", 3}, {"dtype", "float16"}}, "only float32 is supported", Code::unsupported);
  refused(Json::array({1}), "expected an object of attributes");
}

TEST(Registry, TakesWhatKerasWrites) {
  LayerCall l("Dense", Json::parse(R"({"name": "dense", "units": 3, "quantization_config": null,
      "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": null},
      "activation": {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"},
      "kernel_initializer": {"module": "keras.initializers", "class_name": "Constant", "config": {"value": 2},
                             "registered_name": null}})"));
  Json config = l.layer->config();
  EXPECT_EQ(config["activation"], "relu");
  EXPECT_EQ(config["kernel_initializer"]["class_name"], "Constant");
  EXPECT_EQ(config["kernel_initializer"]["config"]["value"], 2.0);
  EXPECT_FALSE(config.contains("quantization_config"));
}

TEST(Registry, EveryConfigComesBack) {
  for (const std::string &category : kinds::categories()) {
    for (const kinds::Entry *e : kinds::entries(category)) {
      SCOPED_TRACE(category + " " + e->name);
      auto kind = e->make(least_config(*e));
      Json config = kind->config();
      const Json described = e->describe();
      for (const Json &f : described["attributes"])
        EXPECT_TRUE(config.contains(f["name"].get<std::string>())) << f["name"].shown();
      EXPECT_EQ(e->make(config)->config(), config);
      EXPECT_EQ(kinds::parse(category, kinds::to_json(kind.get()))->config(), config);
      EXPECT_EQ(&kind->entry(), e);
    }
  }
}

TEST(Registry, EveryEntryIsDescribed) {
  Json all = kinds::describe("", "");
  for (const std::string &category : kinds::categories()) {
    EXPECT_FALSE(all[category].empty()) << category;
    for (const auto &[name, entry] : all[category].items()) {
      SCOPED_TRACE(category + " " + std::string(name));
      EXPECT_GT(entry["doc"].get<std::string>().size(), 0u);
      EXPECT_GE(entry["version"].get<int64_t>(), 1);
      for (const auto &a : entry["attributes"]) {
        EXPECT_GT(a["doc"].get<std::string>().size(), 3u) << a["name"].get<std::string>();
        EXPECT_TRUE(a["required"].get<bool>() != a.contains("default")) << a["name"].get<std::string>();
      }
      if (category != "layer") continue;
      for (const char *list : {"inputs", "outputs", "weights", "arguments"})
        EXPECT_TRUE(entry.contains(list) && entry[list].is_array()) << list;
      EXPECT_EQ(entry["inputs"].empty(), name == "Weight" || name == "GetWeight" || name == "Draws");
      EXPECT_FALSE(entry["outputs"].empty());
    }
  }
  EXPECT_EQ(all["every_layer"]["attributes"].size(), 3u);
  EXPECT_EQ(all["every_layer"]["attributes"][1]["name"], "trainable");
  EXPECT_EQ(kinds::describe("layer", "dense")["layer"].size(), 1u);
  EXPECT_EQ(kinds::describe("layer", "Dense")["layer"]["Dense"]["attributes"][0]["min"], 1);
  EXPECT_EQ(kinds::describe("optimizer", "").size(), 1u);
}

// With a free batch, in training, twice: the ops' shape rules hold, the weights are those the registry names, shared.
TEST(Registry, EveryLayerCanBeCalled) {
  const std::map<std::string, Shape> own_shapes{{"MatMul", {free_dim, 4, 4}},
                                                {"RepeatVector", {free_dim, 6}},
                                                {"Slice", {free_dim, 4}},
                                                {"STFTSpectrogram", {free_dim, 300, 2}},
                                                {"MelSpectrogram", {free_dim, 1500}}};
  const std::set<std::string> without_batch{"Metric", "Weight", "Draws", "Stack", "Sum", "Mean",   "Max",      "Min",
                                            "Prod",   "Var",    "Std",   "Any",   "All", "Arange", "Logsumexp"};
  const std::set<std::string> of_graphs{"GetWeight", "Assign",
                                        "ApplyGradients"};  // capi/objects/graph_updates_test.cpp
  for (const kinds::Entry *e : kinds::entries("layer")) {
    if (of_graphs.count(e->name)) continue;
    SCOPED_TRACE(e->name);
    LayerCall l(e->name, least_config(*e));
    const kinds::Facts facts = l.layer->facts();
    std::string where = facts.inputs.empty() ? "" : facts.inputs[0].shape;
    Shape shape{free_dim, 4, 6};
    if (where.find("H, W") != std::string::npos) shape = {free_dim, 5, 6, 4};
    if (where.find("D, H, W") != std::string::npos) shape = {free_dim, 4, 5, 6, 4};
    if (where == "(B, T, R, C)") shape = {free_dim, 3, 6, 4};
    if (where == "(B, T, H, W, C)") shape = {free_dim, 3, 5, 6, 4};
    if (where == "(B, T, D, H, W, C)") shape = {free_dim, 3, 4, 5, 6, 4};
    if (own_shapes.count(e->name)) shape = own_shapes.at(e->name);
    const std::set<std::string> of_ids{"Embedding", "ReversibleEmbedding", "OneHot"};
    DType dtype = of_ids.count(e->name) ? DType::i32 : DType::f32;
    if (e->name == "GroupNormalization") shape = {free_dim, 4, 64};
    std::vector<Symbol> in;
    const bool graph = e->name.starts_with("Graph"), segments = e->name.starts_with("Segment");
    const bool lengths = e->name == "SetLengths";
    for (int i = 0; i < (segments ? 3 : facts.inputs.empty() ? 0 : std::max(l.layer->arity().least, 1)); ++i) {
      const bool numbers = i == 1 && (graph || segments || lengths || e->name == "Take");
      const Shape s = !numbers || e->name == "Take" ? shape
                      : graph                       ? Shape{free_dim, 7, 2}
                      : lengths                     ? Shape{free_dim}
                                                    : Shape{free_dim, 4};
      in.push_back(e->name == "GetMask" ? l.masked(s) : l.input(s, numbers ? DType::i32 : dtype));
    }
    kinds::Arguments arguments;
    if (where == "(B, I)") {  // a cell: each of its states has as many units
      const bool stacked = e->name == "StackedRNNCells";
      arguments.symbols["states"] =
          std::vector<Symbol>(e->name == "LSTMCell" || stacked ? 2 : 1, l.input({free_dim, stacked ? 2 : 3}));
      in = {l.input({free_dim, 6})};
    }
    auto out = l.call(in, arguments, true);
    ASSERT_FALSE(out.empty());
    if (!without_batch.count(e->name)) {
      EXPECT_EQ(l.shape(out[0])[e->name == "Transpose" ? -1 : 0], free_dim);
    }
    size_t made = l.specs.size();
    l.call(in, arguments, true);
    EXPECT_EQ(l.specs.size(), made);
    ops::verify(l.program);
    std::set<std::string> known;
    for (const kinds::Port &w : facts.weights) known.insert(w.name);
    for (const auto &w : l.specs)  // "weights" are those of the layers inside
      EXPECT_TRUE(known.count(w.name) || (w.name.find('/') != std::string::npos && known.count("weights"))) << w.name;
  }
}

}  // namespace
}  // namespace dl4::test
