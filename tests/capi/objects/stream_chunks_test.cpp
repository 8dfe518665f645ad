// Chunks of many steps: a stream runs 32 of them in one where that has the bits of step by step.
#include <random>

#include "capi/streams.hpp"

namespace {

using namespace dl4_test;

using Layers = std::vector<Layer>;

Own<dl4_tensor> noise(const std::vector<int64_t> &dims) {
  std::mt19937 draw(3);
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  std::vector<float> values(n);
  for (float &v : values) v = static_cast<float>(static_cast<double>(draw()) / 2147483648.0 - 1);
  return tensor(dims, values);
}

int64_t at_once(dl4_session *s) {
  return nlohmann::json::parse(described(s, DL4_FORMAT_JSON)).at("stream").at("steps_at_once");
}

std::string sequences_of(int64_t units) {
  return R"({"units": )" + std::to_string(units) + R"(, "return_sequences": true})";
}
std::string filters(int64_t n, const std::string &more) {
  return R"({"filters": )" + std::to_string(n) + R"(, "padding": "causal", "kernel_size": )" + more + "}";
}

void expect_same_bits(dl4_model *m, int64_t features, int64_t steps, const std::string &options = "") {
  auto s = session(m, R"({"states": true)" + options + "}");
  EXPECT_EQ(std::min<int64_t>(at_once(s), 32), steps);  // 64 where all channels are few
  constexpr int64_t n = 201;
  for (int64_t batch : {1, 3}) {
    SCOPED_TRACE(batch);
    auto x = noise({batch, n, features});
    std::vector<int64_t> singly;
    for (int64_t t = 0; t <= n; ++t) singly.push_back(t);
    const auto expected = in_cuts(stream(s, batch), x, singly);
    EXPECT_EQ(in_cuts(stream(s, batch), x, {0, n}), expected);
    EXPECT_EQ(in_cuts(stream(s, batch), x, {0, 5, 70, 71, 103, 123, 171, n}), expected);
  }
}

void expect_same_bits(const Layers &layers, int64_t features, int64_t steps, const std::string &options = "") {
  auto m = model(layers, {-1, -1, features});
  expect_same_bits(m, features, steps, options);
}

TEST(StreamChunks, ProductsOfManyRowsHaveTheBitsOfOne) {
  for (int64_t units : {1, 5, 16, 33, 64, 130, 200, 300}) {
    SCOPED_TRACE(units);
    const std::string of = R"({"units": )" + std::to_string(units);
    expect_same_bits({{"Dense", of + "}"}, {"Dense", of + R"(, "activation": "relu"})"}}, 7, 32);
    expect_same_bits({{"Dense", of + R"(, "activation": "tanh", "use_bias": false})"}, {"LayerNormalization", "{}"}}, 3,
                     32);
  }
}

TEST(StreamChunks, WindowsOfManyStepsHaveTheBitsOfOne) {
  for (int64_t units : {4, 20, 160}) {
    SCOPED_TRACE(units);
    expect_same_bits({{"Conv1D", filters(units, "3")}, {"Conv1D", filters(units, R"(2, "activation": "relu")")}}, 5,
                     32);
    expect_same_bits({{"Conv1D", filters(units, R"(3, "dilation_rate": 4)")}, {"Conv1D", filters(3, "40")}}, 5, 32);
    expect_same_bits({{"Conv1D", filters(units, R"(3, "strides": 2)")}, {"Dense", R"({"units": 6})"}}, 5, 32);
  }
  expect_same_bits({{"Conv1D", R"({"filters": 6, "kernel_size": 5})"}, {"LSTM", sequences_of(5)}}, 4, 32);
  expect_same_bits(
      {{"DepthwiseConv1D", R"({"kernel_size": 3})"}, {"MaxPooling1D", R"({"pool_size": 3, "strides": 1})"}}, 19, 32);
  expect_same_bits({{"AveragePooling1D", R"({"pool_size": 3, "strides": 3})"}, {"GRU", sequences_of(5)}}, 4, 30);
}

TEST(StreamChunks, RecurrentLayersHaveTheBitsOfOneStep) {
  for (int64_t units : {3, 8, 32, 50}) {
    SCOPED_TRACE(units);
    for (const char *kind : {"GRU", "LSTM", "SimpleRNN"}) expect_same_bits({{kind, sequences_of(units)}}, 9, 32);
    expect_same_bits({{"LSTM", sequences_of(units)}, {"GRU", R"({"units": 4})"}}, 9, 32);
  }
}

// So much work that the threads of the context divide it, by rows or columns.
TEST(StreamChunks, WideLayersAreDividedAmongThreads) {
  expect_same_bits({{"Dense", R"({"units": 1000, "activation": "relu"})"}, {"Dense", R"({"units": 700})"}}, 600, 32);
  expect_same_bits({{"Conv1D", filters(400, "5")}, {"Conv1D", filters(300, R"(3, "dilation_rate": 2)")}}, 300, 32);
  for (const char *kind : {"GRU", "LSTM"}) expect_same_bits({{kind, sequences_of(400)}}, 300, 32);
}

TEST(StreamChunks, NarrowWeightsToo) {
  for (const char *type : {"bfloat16", "int8", "int4"}) {
    SCOPED_TRACE(type);
    const std::string weights = std::string(R"(, "weights": ")") + type + "\"";
    expect_same_bits({{"Dense", R"({"units": 128})"}, {"Dense", R"({"units": 96, "activation": "tanh"})"}}, 64, 32,
                     weights);
    expect_same_bits({{"Conv1D", filters(96, "4")}, {"GRU", sequences_of(96)}}, 64, 32, weights);
    expect_same_bits({{"LSTM", sequences_of(96)}}, 64, 32, weights);
  }
  // Enough for four bits.
  const std::string four = R"(, "weights": "int4")";
  expect_same_bits({{"Dense", R"({"units": 256})"}, {"GRU", sequences_of(224)}}, 512, 32, four);
  expect_same_bits({{"LSTM", sequences_of(192)}}, 256, 32, four);
}

// The keys of a chunk's earlier steps push out older ones that its first queries still see.
TEST(StreamChunks, CausalAttentionSeesTheCacheAsItWasAtEachStep) {
  for (const char *cache : {"3", "8", "31", "40", "64", "300"})
    for (bool first_late : {false, true}) {
      SCOPED_TRACE(cache);
      Own<dl4_graph> g;
      Own<dl4_model> m;
      ok(dl4_graph_create(nullptr, g.out()));
      const dl4_node x = input(g, "x", {-1, -1, 6});
      const dl4_node from = first_late ? add(g, "Conv1D", nullptr, R"({"filters": 5, "kernel_size": 4})", x) : x;
      const dl4_node in[] = {add(g, "Dense", nullptr, R"({"units": 8})", from), from};
      dl4_node y = -1;
      ok(dl4_graph_add(g, "MultiHeadAttention", nullptr, R"({"num_heads": 2, "key_dim": 5})",
                       R"({"use_causal_mask": true})", nullptr, in, 2, &y, 1));
      y = add(g, "Dense", nullptr, R"({"units": 7, "activation": "relu"})", y);
      ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
      expect_same_bits(m, 6, 32, std::string(R"(, "cache_full": "slide", "cache": )") + cache);
    }
}

TEST(StreamChunks, ASumOfAllStepsIsAddedStepByStep) {
  expect_same_bits({{"Dense", R"({"units": 5})"}, {"GlobalAveragePooling1D", "{}"}}, 3, 1);
  expect_same_bits({{"Dense", R"({"units": 5})"}, {"GlobalMaxPooling1D", "{}"}}, 3, 32);
}

TEST(StreamChunks, AFailureInTheMiddleLeavesItWhereItWas) {
  auto s = session(model(
      {{"Embedding", R"({"input_dim": 5, "output_dim": 3})"}, {"Conv1D", filters(4, "3")}, {"GRU", sequences_of(4)}},
      {-1, -1}, DL4_INT32));
  EXPECT_EQ(at_once(s), 32);
  auto a = stream(s), b = stream(s);
  auto x = tensor({1, 100}, {}, DL4_INT32);
  auto *ids = static_cast<int32_t *>(dl4_tensor_data(x));
  for (int i = 0; i < 100; ++i) ids[i] = i * 3 % 5;
  EXPECT_EQ(floats(take(a, part(x, 0, 7))), floats(take(b, part(x, 0, 7))));
  dl4_tensor *in[] = {x}, *out[] = {nullptr};
  ids[80] = 5;
  EXPECT_EQ(refusal(dl4_stream_run(a, in, 1, out, 1, nullptr)).code, DL4_INVALID_ARGUMENT);
  ids[80] = 1;
  EXPECT_EQ(floats(take(a, x)), floats(take(b, x)));
  EXPECT_EQ(floats(take(a, part(x, 0, 40))), floats(take(b, part(x, 0, 40))));
}

}  // namespace
