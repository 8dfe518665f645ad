// The registry: names, descriptions, configs that come back as they went in, and every layer called once.
#include <set>

#include "kinds/layer_call.hpp"
#include "kinds/loss.hpp"

namespace dl4::test::DL4_FILE {
namespace {

// The config of the registry's examples.
Json least_config(const kinds::Entry &e) {
  Json config = Json::object();
  const Json described = e.describe();
  for (const Json &f : described["attributes"])
    if (const Json *example = f.find("example")) config[f["name"].get<std::string>()] = *example;
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
        if (!known.count(f["name"].get<std::string>()))
          elsewhere += std::string(e->name) + '.' + f["name"].get<std::string>() + ' ';
    }
  }
  EXPECT_EQ(elsewhere,
            "Dense.quantization AutoContrast.data_format RandomBrightness.data_format RandomContrast.data_format "
            "Solarization.data_format "
            "LayerNormalization.rms_scaling Hashing.dtype TextVectorization.vocabulary_size "
            "StringLookup.vocabulary_size StringLookup.oov_method IntegerLookup.vocabulary_size "
            "Embedding.activity_regularizer Embedding.quantization "
            "ReversibleEmbedding.activity_regularizer ReversibleEmbedding.lora_rank ReversibleEmbedding.lora_alpha "
            "ReversibleEmbedding.quantization EinsumDense.activity_regularizer EinsumDense.quantization "
            "Conv1D.lora_rank Conv1D.lora_alpha Conv2D.lora_rank Conv2D.lora_alpha Conv3D.lora_rank Conv3D.lora_alpha "
            "LSTM.zero_output_for_mask LSTM.implementation "
            "GRU.zero_output_for_mask GRU.implementation SimpleRNN.zero_output_for_mask ConvLSTM1D.unroll "
            "ConvLSTM1D.zero_output_for_mask ConvLSTM2D.unroll ConvLSTM2D.zero_output_for_mask ConvLSTM3D.unroll "
            "ConvLSTM3D.zero_output_for_mask AdditiveAttention.seed "
            "MultiHeadAttention.quantization MultiHeadAttention.lora "
            "GroupQueryAttention.quantization GroupQueryAttention.lora "
            "Accuracy.by_shape BinaryCrossentropy.axis ");
}

TEST(Registry, TellsWhatKerasHasFromWhatNoOneKnows) {
  for (const char *name : {"TFSMLayer", "tfsm_layer"})
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
  refused({{"units", 3}, {"lora_ranks", 4}}, "unknown attribute \"lora_ranks\"");
  refused(Json::object(), "attribute \"units\" is missing");
  refused({{"units", "3"}}, "\"units\": expected an integer, got \"3\"");
  refused({{"units", 3.0}}, "\"units\": expected an integer, got 3.0");
  refused({{"units", UINT64_MAX}}, "\"units\": expected an integer, got 18446744073709551615");
  refused({{"units", 0}}, "\"units\": expected at least 1, got 0");
  refused({{"units", 3}, {"use_bias", 2}}, "\"use_bias\": expected true or false, got 2");
  refused({{"units", 3}, {"activation", 1}}, "\"activation\": expected the name of an activation, got 1");
  refused({{"units", 3}, {"kernel_initializer", 7}}, "\"kernel_initializer\": expected a name or");
  refused({{"units", 3}, {"kernel_initializer", {{"config", Json::object()}}}}, "expected \"class_name\"");
  refused({{"units", 3}, {"kernel_initializer", {{"class_name", "Zeros"}, {"confg", 1}}}}, "unknown key \"confg\"");
  refused({{"units", 3}, {"kernel_initializer", {{"class_name", "Constant"}, {"config", {{"valu", 1}}}}}},
          "\"kernel_initializer\": Constant: unknown attribute \"valu\"; did you mean \"value\"?");
  refused({{"units", 3}, {"kernel_initializer", {{"class_name", "Zeros"}, {"version", 99}}}}, "has version 99",
          Code::version);
  refused({{"units", 3}, {"dtype", "float16"}}, "expected float32, or for a layer of a graph mixed_bfloat16",
          Code::unsupported);
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
      SCOPED_TRACE(category + " " + std::string(e->name));
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
        EXPECT_TRUE(!a["required"].get<bool>() || a.contains("example")) << a["name"].get<std::string>();
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
                                                {"STFTSpectrogram", {free_dim, 300, 2}},
                                                {"MelSpectrogram", {free_dim, 1500}},
                                                {"EnsureSize", {free_dim, 1, 4}},
                                                {"LinearAttention", {free_dim, 3, 16}},
                                                {"TextVectorization", {free_dim, 1}},
                                                {"HashedCrossing", {free_dim, 1}},
                                                {"NgramCounts", {free_dim, 3}},
                                                {"CategoryEncoding", {free_dim, 3}},
                                                {"Range", {}}};
  const std::set<std::string> without_batch{"Metric", "Weight", "Draws",     "Stack", "Sum",   "Mean",
                                            "Max",    "Min",    "Prod",      "Var",   "Std",   "Any",
                                            "All",    "Arange", "Logsumexp", "Sizes", "Range", "NonMaxSuppression"};
  // capi/objects/graph_updates_test.cpp, capi/files/onnx_flow_test.cpp
  const std::set<std::string> of_graphs{"GetWeight", "Assign", "ApplyGradients", "UpdateStep", "Cond",
                                        "WhileLoop", "Scan"};
  for (const kinds::Entry *e : kinds::entries("layer")) {
    if (of_graphs.count(std::string(e->name))) continue;
    SCOPED_TRACE(std::string(e->name));
    LayerCall l(std::string(e->name), least_config(*e));
    const kinds::Facts facts = l.layer->facts();
    std::string where(facts.inputs.empty() ? "" : facts.inputs[0].shape.view());
    Shape shape{free_dim, 3, 4};
    if (where.find("H, W") != std::string::npos) shape = {free_dim, 5, 6, where.find("W, 3") == where.npos ? 4 : 3};
    if (where.find("D, H, W") != std::string::npos) shape = {free_dim, 4, 5, 6, 4};
    if (where == "(B, T, R, C)") shape = {free_dim, 3, 6, 4};
    if (where == "(B, T, H, W, C)") shape = {free_dim, 3, 5, 6, 4};
    if (where == "(B, T, D, H, W, C)") shape = {free_dim, 3, 4, 5, 6, 4};
    if (own_shapes.count(std::string(e->name))) shape = own_shapes.at(std::string(e->name));
    const std::set<std::string> of_ids{"Embedding",     "ReversibleEmbedding", "OneHot",     "Range",
                                       "IntegerLookup", "CategoryEncoding",    "NgramCounts"};
    const std::set<std::string> of_texts{"StringLookup", "TextVectorization", "Hashing",    "HashedCrossing",
                                         "StringConcat", "StringCase",        "StringSplit"};
    const bool bits = std::string(e->name).starts_with("Bitwise") || std::string(e->name).ends_with("Shift");
    DType dtype = bits || of_ids.count(std::string(e->name)) ? DType::i32
                  : of_texts.count(std::string(e->name))     ? DType::string
                                                             : DType::f32;
    std::vector<Symbol> in;
    const bool graph = std::string(e->name).starts_with("Graph"),
               segments = std::string(e->name).starts_with("Segment");
    const bool lengths = std::string(e->name) == "SetLengths";
    const std::map<std::string, std::vector<Shape>> behind{
        {"GridSample", {{free_dim, 2, 3, 2}}},
        {"RoiAlign", {{free_dim, 4}, {free_dim}}},
        {"NonMaxSuppression", {{free_dim, 2, 3}}},
        {"LinearAttention", {{free_dim, 3, 8}, {free_dim, 3, 8}, {free_dim, 3, 2}, {free_dim, 3, 2}}}};
    for (int i = 0; i < (segments ? 3 : facts.inputs.empty() ? 0 : std::max(l.layer->arity().least, 1)); ++i) {
      const bool numbers = (i == 1 && (graph || segments || lengths || std::string(e->name) == "Take")) ||
                           (i == 2 && std::string(e->name) == "RoiAlign");
      const Shape s = i > 0 && behind.count(std::string(e->name))
                          ? behind.at(std::string(e->name))[static_cast<size_t>(i - 1)]
                      : !numbers || std::string(e->name) == "Take" ? shape
                      : graph                                      ? Shape{free_dim, 7, 2}
                      : lengths                                    ? Shape{free_dim}
                                                                   : Shape{free_dim, 3};
      in.push_back(std::string(e->name) == "GetMask" ? l.masked(s) : l.input(s, numbers ? DType::i32 : dtype));
    }
    kinds::Arguments arguments;
    if (where == "(B, I)") {  // a cell: each of its states has as many units
      const bool two = std::string(e->name) == "LSTMCell" || std::string(e->name) == "StackedRNNCells";
      arguments.symbols["states"] = std::vector<Symbol>(two ? 2 : 1, l.input({free_dim, 4}));
      in = {l.input({free_dim, 4})};
    }
    std::vector<Symbol> out;
    ASSERT_NO_THROW(out = l.call(in, arguments, true));
    ASSERT_FALSE(out.empty());
    if (!without_batch.count(std::string(e->name))) {
      EXPECT_EQ(l.shape(out[0])[0], free_dim);
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
}  // namespace dl4::test::DL4_FILE
