// Streams of layers whose steps see earlier ones: in any cut the same bits, and within rounding the first of what a run
// gives for the whole sequence.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

using Layers = std::vector<LayerOf>;

struct Case {
  Layers layers;
  std::optional<int64_t> missing = 0;
  std::vector<int64_t> tail{3};
};

void expect_cases(const std::vector<Case> &cases) {
  for (const Case &c : cases) {
    std::string name;
    for (const LayerOf &l : c.layers) name += std::string(l.kind) + l.config + " ";
    SCOPED_TRACE(name);
    std::vector<int64_t> dims{free_dim, free_dim};
    dims.insert(dims.end(), c.tail.begin(), c.tail.end());
    expect_streams(chain(c.layers, Shape(dims)), c.tail, {c.missing});
  }
}

const std::string lstm = R"({"units": 4, "return_sequences": true})";
std::string conv(const std::string &more) { return R"({"filters": 4, "kernel_size": )" + more + "}"; }

TEST(StreamLayers, Convolutions) {
  expect_cases({
      {{{"Conv1D", conv(R"(3, "padding": "causal")")}}},
      {{{"Conv1D", conv(R"(3, "padding": "causal", "dilation_rate": 4)")}}},
      {{{"Conv1D", conv(R"(3, "padding": "causal", "strides": 2)")}}},
      {{{"Conv1D", conv("5")}}},
      {{{"Conv1D", conv(R"(3, "dilation_rate": 3)")}}},
      {{{"Conv1D", conv(R"(5, "strides": 3)")}}},
      {{{"Conv1D", conv(R"(2, "strides": 4)")}}},
      {{{"Conv1D", conv("1")}}},
      {{{"Conv1D", conv(R"(1, "padding": "same")")}}},
      {{{"DepthwiseConv1D", R"({"kernel_size": 3, "depth_multiplier": 2})"}}},
      {{{"DepthwiseConv1D", R"({"kernel_size": 3, "dilation_rate": 2})"}}},
      {{{"SeparableConv1D", conv("4")}}},
      {{{"SeparableConv1D", conv(R"(4, "strides": 2)")}}},
      {{{"Conv1D", conv(R"(3, "padding": "causal", "activation": "relu")")},
        {"Conv1D", conv(R"(3, "padding": "causal", "dilation_rate": 2)")},
        {"Conv1D", conv(R"(3, "padding": "causal", "dilation_rate": 4)")}}},
      {{{"Conv1D", conv("5")}, {"Conv1D", conv(R"(3, "padding": "causal")")}}},
      {{{"Conv1D", conv(R"(4, "strides": 2)")}, {"Conv1D", conv(R"(3, "padding": "causal")")}, {"LSTM", lstm}}},
      {{{"Conv1D", conv(R"(3, "strides": 3)")}, {"Conv1D", conv(R"(3, "strides": 2)")}}},
      {{{"Conv1DTranspose", conv(R"(4, "strides": 2)")}}, 2},
      {{{"Conv1DTranspose", conv(R"(5, "strides": 2, "padding": "same")")}}, 1},
      {{{"Conv1DTranspose", conv("3")}}, 2},
      {{{"Conv1DTranspose", conv(R"(2, "strides": 3)")}}, 0},
      {{{"Conv1D", conv("3")}, {"Conv1DTranspose", conv(R"(4, "strides": 2)")}, {"GRU", lstm}}, 2},
  });
}

TEST(StreamLayers, RecurrentLayersAndWhatIsBetween) {
  const std::string stack =
      R"({"return_sequences": true, "cell": {"class_name": "StackedRNNCells", "config": {"cells": [
    {"class_name": "LSTMCell", "config": {"units": 4}}, {"class_name": "SimpleRNNCell", "config": {"units": 5}}]}}})";
  expect_cases({
      {{{"LSTM", lstm}, {"Dense", R"({"units": 2, "activation": "softmax"})"}}},
      {{{"LayerNormalization", "{}"}, {"GRU", lstm}, {"LSTM", R"({"units": 5})"}, {"Dense", R"({"units": 2})"}}},
      {{{"SimpleRNN", lstm}, {"Activation", R"({"activation": "softmax"})"}}},
      {{{"GRU", R"({"units": 4, "reset_after": false, "return_sequences": true})"}, {"Dropout", R"({"rate": 0.5})"}}},
      {{{"RNN", stack}}},
      {{{"LSTM", R"({"units": 4, "activation": "relu", "return_sequences": true})"},
        {"TimeDistributed", R"({"layer": {"class_name": "Dense", "config": {"units": 3}}})"}}},
  });
}

// Rows of zeros are masked.
TEST(StreamLayers, MaskedStepsRepeatTheOutputOfTheCutBefore) {
  for (const char *kind : {"LSTM", "GRU", "SimpleRNN"})
    for (const char *zero : {"true", "false"}) {
      SCOPED_TRACE(std::string(kind) + zero);
      const std::string config = R"({"units": 4, "return_sequences": true, "zero_output_for_mask": )";
      expect_cases({{{{"ReLU", "{}"}, {"Masking", "{}"}, {kind, config + zero + "}"}, {"LSTM", R"({"units": 3})"}}}});
    }
}

TEST(StreamLayers, ANestedModelIsRunStepByStepToo) {
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 3});
  const Json inside = to_json(chain({{"Dense", R"({"units": 3})"}, {"LSTM", lstm}}, g.graph->shape(x)).architecture());
  const Node y = g.add("Functional", "inside", {{"model", inside}}, {x});
  const Model m = g.model({x}, {g.add("GRU", R"({"units": 2})", {y})});
  expect_streams(m, {3});
  EXPECT_EQ(runtime::Stream(streamed(m), 1).states()[1].first, "inside/lstm/rnn_state");
}

TEST(StreamLayers, AnInputThatIsNoSequenceIsTheSameAtAllSteps) {
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 3}), bias = g.input("bias", {free_dim, 1, 3});
  const runtime::Ticks ticks = streamed(g.model({x, bias}, {g.add("LSTM", lstm, {g.add("Add", "{}", {x, bias})})}));
  const Tensor sequence = random_tensor({2, 9, 3}, 1), beside = random_tensor({2, 1, 3}, 2);
  EXPECT_EQ(in_cuts(ticks, sequence, {0, 5, 9}, {beside}), in_cuts(ticks, sequence, {0, 9}, {beside}));
}

// What a ring keeps ahead, and a state that a later tick begins, are no part of what is saved.
TEST(StreamLayers, AnUndoneRunLeavesTheStatesThatAreSaved) {
  const auto saved = [](const runtime::Stream &s) {
    std::string all;
    for (const auto &[name, value] : s.saved()) all += text(name, value.chars());
    return all;
  };
  const Layers all[] = {{{"LSTM", lstm}},
                        {{"Conv1D", conv("3")}},
                        {{"Conv1D", conv(R"(3, "dilation_rate": 2)")}},
                        {{"Conv1D", conv("3")}, {"GlobalMaxPooling1D", "{}"}, {"Dense", R"({"units": 5})"}},
                        {{"Conv1D", conv(R"(3, "strides": 2)")}, {"GRU", R"({"units": 5})"}},
                        {{"Conv1D", conv(R"(3, "padding": "causal")")}}};
  const Tensor x = random_tensor({1, 90, 4}, 1);
  for (const Layers &layers : all) {
    const runtime::Ticks ticks = streamed(chain(layers, {free_dim, free_dim, 4}));
    for (int64_t before : {0, 1, 2, 3, 5, 40})
      for (int64_t more : {1, 2, 3, 4, 40}) {
        SCOPED_TRACE(text(layers[0].config, ": ", before, " then ", more));
        runtime::Stream s(ticks, 1);
        if (before > 0) in_cuts(s, ticks, x, {0, before});
        const std::string was = saved(s);
        runtime::Stream fork = s.fork();
        s.own();
        in_cuts(s, ticks, x, {0, more});
        s.undo();
        EXPECT_EQ(saved(s), was);
        fork.own();
        EXPECT_EQ(in_cuts(s, ticks, x, {0, 4}), in_cuts(fork, ticks, x, {0, 4}));
      }
  }
}

TEST(StreamLayers, RefuseByNameWhatIsNotOfEachStep) {
  const auto why = [](const Model &m) { return refused(Code::unsupported, [&] { streamed(m); }); };
  const std::string end = "it reads a sequence from its end", mixed = "its output at one step depends on other steps";
  const std::string same =
      "with padding \"same\" its output at one step depends on later steps; \"causal\" or \"valid\" stream";
  const std::tuple<LayerOf, std::string, std::string> mixing[] = {
      {{"Bidirectional", R"({"layer": {"class_name": "GRU", "config": {"units": 2}}})"}, "bidirectional", end},
      {{"LSTM", R"({"units": 2, "go_backwards": true})"}, "lstm", end},
      {{"Conv1D", R"({"filters": 2, "kernel_size": 2, "padding": "same"})"}, "conv1d", same},
      {{"MaxPooling1D", R"({"padding": "same"})"}, "max_pooling1d", same},
      {{"AdaptiveMaxPooling1D", R"({"output_size": 2})"},
       "adaptive_max_pooling1d",
       "the windows of its output depend on the number of all steps"},
      {{"Softmax", R"({"axis": 1})"}, "softmax", mixed},
      {{"GroupNormalization", R"({"groups": 1})"},
       "group_normalization",
       "it needs the end of the sequence at each step"},
      {{"Flip", R"({"axis": 1})"}, "flip", "it begins at the end of a sequence"}};
  for (const auto &[layer, name, reason] : mixing)
    EXPECT_EQ(why(chain({layer}, {free_dim, free_dim, 3})), text("layer \"", name, "\" (", layer.kind, "): ", reason));
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 3}), last = g.add("LSTM", R"({"units": 2})", {x});
  const Arguments from_last{Json::object(), {{"initial_state", {last}}}};
  EXPECT_EQ(why(g.model({x}, {g.add("GRU", "gru", {{"units", 2}}, {x}, from_last)})),
            "layer \"gru\" (GRU): its initial_state depends on the steps");
}

TEST(StreamLayers, SpectraByHops) {
  const std::string frames = R"({"mode": "magnitude", "frame_length": 8, "fft_length": 8, "frame_step": )";
  expect_cases({
      {{{"STFTSpectrogram", frames + "4}"}}, 0, {1}},
      {{{"STFTSpectrogram", frames + "3}"}, {"LSTM", lstm}}, 0, {1}},
      {{{"Conv1D", conv("3")}, {"STFTSpectrogram", frames + "8}"}}, 0, {1}},
  });
}

TEST(StreamLayers, LongCuts) {
  const Layers layers{{"Conv1D", conv(R"(3, "padding": "causal", "dilation_rate": 4)")},
                      {"LSTM", lstm},
                      {"GRU", R"({"units": 20, "return_sequences": true})"},
                      {"Conv1D", conv(R"(4, "strides": 2)")}};
  expect_streams(chain(layers, {free_dim, free_dim, 3}), {3}, {.lengths = {1, 160, 4096}, .least = 9000});
}

TEST(StreamLayers, WindowsOfImagesAndVolumes) {
  expect_cases({
      {{{"TimeDistributed",
         R"({"layer": {"class_name": "Conv2D", "config": {"filters": 2, "kernel_size": 3, "padding": "same"}}})"},
        {"TimeDistributed", R"({"layer": {"class_name": "MaxPooling2D", "config": {}}})"},
        {"TimeDistributed", R"({"layer": {"class_name": "Flatten", "config": {}}})"},
        {"GRU", lstm}},
       0,
       {4, 6, 2}},
      {{{"Conv2D", R"({"filters": 2, "kernel_size": [1, 3], "padding": "same"})"}}, 0, {6, 2}},
      {{{"Conv2D", R"({"filters": 2, "kernel_size": [3, 2]})"}}, 0, {6, 2}},
      {{{"MaxPooling2D", R"({"pool_size": [1, 2]})"}}, 0, {6, 2}},
      {{{"Conv3D", R"({"filters": 2, "kernel_size": [1, 3, 3], "padding": "same"})"}}, 0, {4, 4, 2}},
      {{{"ConvLSTM1D", R"({"filters": 2, "kernel_size": 3, "padding": "same", "return_sequences": true})"}}, 0, {6, 2}},
  });
}

TEST(StreamLayers, PoolingAndPlaces) {
  expect_cases({
      {{{"MaxPooling1D", "{}"}}},
      {{{"MaxPooling1D", R"({"pool_size": 3, "strides": 1})"}}},
      {{{"AveragePooling1D", R"({"pool_size": 4, "strides": 2})"}}},
      {{{"GlobalMaxPooling1D", "{}"}}},
      {{{"GlobalAveragePooling1D", "{}"}}},
      {{{"Conv1D", conv("4")}, {"GlobalAveragePooling1D", R"({"keepdims": true})"}, {"Dense", R"({"units": 2})"}}},
      {{{"UpSampling1D", R"({"size": 3})"}}},
      {{{"UpSampling1D", R"({"size": 3})"}, {"Conv1D", conv(R"(3, "padding": "causal")")}}},
      {{{"Conv1D", conv(R"(3, "strides": 2)")}, {"UpSampling1D", R"({"size": 2})"}, {"LSTM", lstm}}},
      {{{"ZeroPadding1D", R"({"padding": [3, 0]})"}, {"Conv1D", conv("4")}}},
      {{{"ZeroPadding1D", R"({"padding": [2, 1]})"}}, 3},
      {{{"ZeroPadding1D", R"({"padding": [4, 0]})"}, {"MaxPooling1D", R"({"pool_size": 3, "strides": 2})"}},
       std::nullopt},
      {{{"Conv1D", conv("4")}, {"ZeroPadding1D", R"({"padding": [3, 0]})"}, {"Conv1D", conv("4")}}},
      // The zeros at the beginning are steps of the LSTM: as many of the others come later.
      {{{"Conv1D", conv("3")}, {"ZeroPadding1D", R"({"padding": [2, 0]})"}, {"LSTM", lstm}}, 2},
      {{{"Cropping1D", R"({"cropping": [2, 3]})"}}},
      {{{"Cropping1D", R"({"cropping": [2, 3]})"}, {"LSTM", lstm}}},
  });
}

TEST(StreamLayers, NormalizationsAndSums) {
  expect_cases({
      {{{"BatchNormalization", "{}"}, {"Conv1D", conv(R"(3, "padding": "causal")")}, {"BatchNormalization", "{}"}}},
      {{{"LayerNormalization", "{}"}}},
      {{{"RMSNormalization", "{}"}}},
      {{{"UnitNormalization", "{}"}}},
      {{{"Conv1D", conv("2")}, {"LayerNormalization", R"({"axis": -1})"}, {"Softmax", "{}"}}},
  });
}

TEST(StreamLayers, BranchesOfDifferentLatencyMeet) {
  for (const char *merge : {"Add", "Concatenate", "Multiply", "Maximum"}) {
    SCOPED_TRACE(merge);
    Net g;
    const Node x = g.input("x", {free_dim, free_dim, 4});
    const Node y = g.add(merge, "{}",
                         {g.add("Conv1D", conv("5"), {x}), g.add("Cropping1D", R"({"cropping": [0, 4]})", {x}),
                          g.add("LSTM", lstm, {g.add("Conv1D", conv("5"), {x})})});
    expect_streams(g.model({x}, {g.add("Conv1D", conv(R"(2, "padding": "causal")"), {y})}), {4});
  }
}

TEST(StreamLayers, CausalAttentionKeepsKeysAndValues) {
  const auto expect = [](const char *kind, const std::string &config, bool alone) {
    SCOPED_TRACE(kind + config);
    Net g;
    const Node x = g.input("x", {free_dim, free_dim, 4});
    const Node q = alone ? x : g.add("LSTM", lstm, {x}), v = alone ? x : g.add("Dense", R"({"units": 4})", {x});
    const Model m = g.model({x}, {g.add(kind, config, {q, v}, R"({"use_causal_mask": true})")});
    expect_streams(m, {4}, {.cache = 40});
    // A window over the last steps alone: the same as long as there are no more.
    const runtime::Ticks five = streamed(m, {5});
    EXPECT_EQ(refused(Code::unsupported,
                      [&] {
                        in_cuts(five, random_tensor({1, 6, 4}, 3), {0, 5, 6});
                      }),
              "the sequence would have 6 steps, more than its attention keeps; a larger \"cache\" or \"cache_full\": "
              "\"slide\" of the session allows it");
    const runtime::Ticks sliding = streamed(m, {5, true});
    const Tensor data = random_tensor({2, 50, 4}, 4);
    const auto whole = in_cuts(sliding, data, {0, 50});
    for (int64_t length : {1, 7}) EXPECT_EQ(in_cuts(sliding, data, cuts_of(50, length)), whole);
    if (!alone) return;
    // The last step sees the five latest ones.
    const auto expected = floats(run(m, {part(data, 45, 50)})[0]);
    expect_close({whole.end() - 4, whole.end()}, {expected.end() - 4, expected.end()});
  };
  for (bool alone : {true, false}) {
    expect("Attention", "{}", alone);
    expect("Attention", R"({"use_scale": true})", alone);
    expect("MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3})", alone);
    expect("MultiHeadAttention", R"({"num_heads": 2, "key_dim": 9, "value_dim": 5, "use_gate": true})", alone);
    expect("GroupQueryAttention", R"({"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 3})", alone);
  }
}

// A net of layers drawn at random, with branches that meet again.
class RandomNet {
 public:
  explicit RandomNet(uint32_t seed) : draw_(seed) {}

  Model make() {
    const Node x = g_.input("x", {free_dim, free_dim, 4});
    Node y = x;
    const int64_t layers = 1 + below(5);
    for (int64_t i = 0; i < layers; ++i) y = below(5) == 0 ? meet(y) : layer(y, true);
    if (below(6) == 0 && !ends_) y = g_.add(below(2) ? "GlobalMaxPooling1D" : "GlobalAveragePooling1D", "{}", {y});
    return g_.model({x}, {y});
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(draw_() % static_cast<uint32_t>(n)); }
  std::string number(int64_t n) { return std::to_string(n); }

  // Of 4 features. `rates`: it may change the number of steps.
  Node layer(Node x, bool rates) {
    const std::string size = number(1 + below(4)), dilation = number(1 + below(3)), stride = number(1 + below(3));
    const std::string units = R"({"units": 4, "return_sequences": true})";
    const auto put = [&](const char *kind, const std::string &config) { return g_.add(kind, config, {x}); };
    const int64_t kind = below(rates ? 20 : 13);
    ends_ |= kind >= 13 && kind <= 18;
    switch (kind) {
      case 0:
        return put("Conv1D", conv(size + R"(, "padding": "causal", "dilation_rate": )" + dilation));
      case 1:
        return put("Conv1D", conv(size + R"(, "dilation_rate": )" + dilation));
      case 2:
        return put("DepthwiseConv1D", R"({"kernel_size": )" + size + "}");
      case 3:
        return put("SeparableConv1D", conv(size));
      case 4:
        return put("Dense", R"({"units": 4, "activation": "tanh"})");
      case 5:
        return put("LSTM", units);
      case 6:
        return put("GRU", units);
      case 7:
        return put("SimpleRNN", units);
      case 8:
        return put("BatchNormalization", "{}");
      case 9:
        return put("LayerNormalization", "{}");
      case 10:
        return put("MaxPooling1D", R"({"strides": 1, "pool_size": )" + size + "}");
      case 11:
        return attention(x);
      case 12:
        return put("Cropping1D", R"({"cropping": [)" + size + ", " + number(below(3)) + "]}");
      case 13:
        return put("Conv1D", conv(size + R"(, "padding": "causal", "strides": )" + stride));
      case 14:
        return put("Conv1D", conv(size + R"(, "strides": )" + stride));
      case 15:
        return put("AveragePooling1D", R"({"pool_size": )" + size + R"(, "strides": )" + stride + "}");
      case 16:
        return put("UpSampling1D", R"({"size": )" + number(1 + below(2)) + "}");
      case 17:
        return put("Conv1DTranspose", conv(size + R"(, "strides": )" + stride));
      case 18:
        return put("ZeroPadding1D", R"({"padding": [)" + number(below(4)) + ", 0]}");
      default:
        return put("RMSNormalization", "{}");
    }
  }
  Node attention(Node x) {
    const bool causal = below(3) > 0;
    const int64_t kind = causal ? below(3) : 1 + below(2);
    const std::string heads = R"({"num_heads": 2, "key_dim": 3)", window = number(1 + below(4));
    ends_ |= !causal;
    return g_.add(kind < 2 ? "MultiHeadAttention" : "LocalAttention",
                  kind == 0   ? heads + "}"
                  : kind == 1 ? heads + R"(, "sliding_window": )" + window + "}"
                              : R"({"window": )" + window + "}",
                  {x, x}, causal ? R"({"use_causal_mask": true})" : "{}");
  }
  // Two branches of equal length in the end: what one is shorter is cut off the other's beginning.
  Node meet(Node x) {
    const int64_t reach = 1 + below(4);
    const Node narrow = g_.add("Conv1D", conv(number(reach)), {x});
    const Node wide = g_.add("Conv1D", conv("3, \"padding\": \"causal\""), {narrow});
    const Node cut = g_.add("Cropping1D", R"({"cropping": [)" + number(reach - 1) + ", 0]}", {x});
    return g_.add(below(2) ? "Add" : "Maximum", "{}", {wide, cut});
  }

  std::mt19937 draw_;
  Net g_;
  bool ends_ = false;  // a stream lacks steps at the end, which a sum of all steps would show
};

TEST(StreamLayers, RandomNetsInAnyCut) {
  const uint32_t nets = std::getenv("DL4_FULL_TESTS") ? 10000 : 1000;
  for (uint32_t seed = 0; seed < nets; ++seed) {
    SCOPED_TRACE(seed);
    const Model m = RandomNet(seed).make();
    ASSERT_NO_FATAL_FAILURE(
        expect_streams(m, {4}, {.missing = std::nullopt, .cache = 20000, .lengths = {1, 7}, .least = 160}));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
