// Streams of layers whose steps see earlier ones: in any cut the same bits, those of a session with "streamable", and
// within rounding the first of what a session gives for the whole sequence.
#include <random>

#include "capi/streams.hpp"

namespace {

using namespace dl4_test;

using Layers = std::vector<Layer>;

struct Case {
  Layers layers;
  std::optional<int64_t> missing = 0;
  std::vector<int64_t> tail{3};
};

void expect_cases(const std::vector<Case> &cases) {
  for (const Case &c : cases) {
    std::string name;
    for (const Layer &l : c.layers) name += std::string(l.kind) + l.config + " ";
    SCOPED_TRACE(name);
    std::vector<int64_t> dims{-1, -1};
    dims.insert(dims.end(), c.tail.begin(), c.tail.end());
    expect_streams(model(c.layers, dims), c.tail, c.missing);
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

TEST(StreamLayers, SpectraByHops) {
  const std::string frames = R"({"mode": "magnitude", "frame_length": 8, "fft_length": 8, "frame_step": )";
  expect_cases({
      {{{"STFTSpectrogram", frames + "4}"}}, 0, {1}},
      {{{"STFTSpectrogram", frames + "3}"}, {"LSTM", lstm}}, 0, {1}},
      {{{"Conv1D", conv("3")}, {"STFTSpectrogram", frames + "8}"}}, 0, {1}},
  });
}

TEST(StreamLayers, LongCuts) {
  auto m = model({{"Conv1D", conv(R"(3, "padding": "causal", "dilation_rate": 4)")},
                  {"LSTM", lstm},
                  {"GRU", R"({"units": 20, "return_sequences": true})"},
                  {"Conv1D", conv(R"(4, "strides": 2)")}});
  expect_streams(m, {3}, 0, "", {1, 160, 4096}, 9000);
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
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {-1, -1, 4});
    const dl4_node wide = add(g, "Cropping1D", nullptr, R"({"cropping": [0, 4]})", x);
    const dl4_node in[] = {add(g, "Conv1D", nullptr, conv("5"), x), wide,
                           add(g, "LSTM", nullptr, lstm, add(g, "Conv1D", nullptr, conv("5"), x))};
    dl4_node y = -1;
    ok(dl4_graph_add(g, merge, nullptr, nullptr, nullptr, nullptr, in, 3, &y, 1));
    y = add(g, "Conv1D", nullptr, conv(R"(2, "padding": "causal")"), y);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    expect_streams(m, {4});
  }
}

TEST(StreamLayers, CausalAttentionKeepsKeysAndValues) {
  const auto expect = [](const char *kind, const std::string &config, bool alone) {
    SCOPED_TRACE(kind + config);
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {-1, -1, 4});
    dl4_node q = x, v = x;
    if (!alone) q = add(g, "LSTM", nullptr, lstm, x), v = add(g, "Dense", nullptr, R"({"units": 4})", x);
    const dl4_node in[] = {q, v};
    dl4_node y = -1;
    ok(dl4_graph_add(g, kind, nullptr, config.c_str(), R"({"use_causal_mask": true})", nullptr, in, 2, &y, 1));
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    expect_streams(m, {4}, 0, R"(, "cache": 40)");
    // A window over the last steps alone: the same as long as there are no more.
    auto s = session(m, R"({"streamable": true, "cache": 5})");
    auto t = stream(s);
    auto data = random_tensor({1, 6, 4}, 3), head = part(data, 0, 5), last = part(data, 5, 6);
    dl4_tensor *const one[] = {last};
    take(t, head);
    dl4_tensor *out = nullptr;
    const Refusal r = refusal(dl4_stream_run(t, one, 1, &out, 1, nullptr));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED);
    EXPECT_EQ(r.message,
              "dl4_stream_run: the sequence would have 6 steps, more than its attention keeps; a larger \"cache\" or "
              "\"cache_full\": \"slide\" of the session allows it");
    auto sliding = session(m, R"({"streamable": true, "cache": 5, "cache_full": "slide"})");
    auto long_one = random_tensor({2, 50, 4}, 4);
    std::vector<float> whole;
    for (int64_t length : {50, 1, 7}) {
      const auto y_of = in_cuts(stream(sliding, 2), long_one, cuts_of(50, length));
      if (whole.empty()) whole = y_of;
      EXPECT_EQ(y_of, whole);
    }
    if (!alone) return;
    // The last step sees the five latest ones.
    int64_t steps = 0;
    auto five = part(long_one, 45, 50);
    const auto expected = run_whole(session(m, "{}"), five, &steps);
    const std::vector<float> got(whole.end() - 4, whole.end()), wanted(expected.end() - 4, expected.end());
    expect_close(got, wanted);
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
  explicit RandomNet(uint32_t seed) : draw_(seed) { ok(dl4_graph_create(nullptr, g_.out())); }

  Own<dl4_model> make() {
    const dl4_node x = input(g_, "x", {-1, -1, 4});
    dl4_node y = x;
    const int64_t layers = 1 + below(5);
    for (int64_t i = 0; i < layers; ++i) y = below(5) == 0 ? meet(y) : layer(y, true);
    if (below(6) == 0 && !ends_)
      y = add(g_, below(2) ? "GlobalMaxPooling1D" : "GlobalAveragePooling1D", nullptr, "{}", y);
    Own<dl4_model> m;
    ok(dl4_graph_build(g_, &x, 1, &y, 1, m.out()));
    return m;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(draw_() % static_cast<uint32_t>(n)); }
  std::string number(int64_t n) { return std::to_string(n); }

  // Of 4 features. `rates`: it may change the number of steps.
  dl4_node layer(dl4_node x, bool rates) {
    const std::string size = number(1 + below(4)), dilation = number(1 + below(3)), stride = number(1 + below(3));
    const std::string units = R"({"units": 4, "return_sequences": true})";
    const auto put = [&](const char *kind, const std::string &config) { return add(g_, kind, nullptr, config, x); };
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
  dl4_node attention(dl4_node x) {
    const dl4_node in[] = {x, x};
    dl4_node y = -1;
    const bool causal = below(3) > 0;
    const int64_t kind = causal ? below(3) : 1 + below(2);
    const std::string heads = R"({"num_heads": 2, "key_dim": 3)", window = number(1 + below(4));
    ends_ |= !causal;
    ok(dl4_graph_add(g_, kind < 2 ? "MultiHeadAttention" : "LocalAttention", nullptr,
                     (kind == 0   ? heads + "}"
                      : kind == 1 ? heads + R"(, "sliding_window": )" + window + "}"
                                  : R"({"window": )" + window + "}")
                         .c_str(),
                     causal ? R"({"use_causal_mask": true})" : "{}", nullptr, in, 2, &y, 1));
    return y;
  }
  // Two branches of equal length in the end: what one is shorter is cut off the other's beginning.
  dl4_node meet(dl4_node x) {
    const int64_t reach = 1 + below(4);
    const dl4_node narrow = add(g_, "Conv1D", nullptr, conv(number(reach)), x);
    const dl4_node in[] = {add(g_, "Conv1D", nullptr, conv("3, \"padding\": \"causal\""), narrow),
                           add(g_, "Cropping1D", nullptr, R"({"cropping": [)" + number(reach - 1) + ", 0]}", x)};
    dl4_node y = -1;
    ok(dl4_graph_add(g_, below(2) ? "Add" : "Maximum", nullptr, nullptr, nullptr, nullptr, in, 2, &y, 1));
    return y;
  }

  std::mt19937 draw_;
  Own<dl4_graph> g_;
  bool ends_ = false;  // a stream lacks steps at the end, which a sum of all steps would show
};

TEST(StreamLayers, RandomNetsInAnyCut) {
  for (uint32_t seed = 0; seed < static_cast<uint32_t>(times(1000, 10000)); ++seed) {
    SCOPED_TRACE(seed);
    RandomNet net(seed);
    auto m = net.make();
    ASSERT_NO_FATAL_FAILURE(expect_streams(m, {4}, std::nullopt, R"(, "cache": 20000)", {1, 7}, 160));
    if (HasFailure()) return;
  }
}

}  // namespace
