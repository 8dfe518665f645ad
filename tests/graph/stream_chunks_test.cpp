// Chunks of many steps: a stream runs 32 of them in one where that has the bits of step by step.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

using Layers = std::vector<LayerOf>;

int64_t at_once(const runtime::Ticks &ticks) {
  int64_t most = 1;
  for (const plan::Tick::Together &t : ticks.how->together) most = std::max(most, t.ticks);
  return most * ticks.how->steps;
}

std::string sequences_of(int64_t units) {
  return R"({"units": )" + std::to_string(units) + R"(, "return_sequences": true})";
}
std::string filters(int64_t n, const std::string &more) {
  return R"({"filters": )" + std::to_string(n) + R"(, "padding": "causal", "kernel_size": )" + more + "}";
}

void expect_same_bits(const Model &m, int64_t features, int64_t steps, plan::Cache cache = {},
                      const runtime::Options &how = options()) {
  const runtime::Ticks ticks = streamed(m, cache, how);
  EXPECT_EQ(std::min<int64_t>(at_once(ticks), 32), steps);  // 64 where all channels are few
  constexpr int64_t n = 201;
  for (int64_t batch : {1, 3}) {
    SCOPED_TRACE(batch);
    const Tensor x = random_tensor({batch, n, features}, 3);
    const auto expected = in_cuts(ticks, x, cuts_of(n, 1));
    EXPECT_EQ(in_cuts(ticks, x, {0, n}), expected);
    EXPECT_EQ(in_cuts(ticks, x, {0, 5, 70, 71, 103, 123, 171, n}), expected);
  }
}

void expect_same_bits(const Layers &layers, int64_t features, int64_t steps, const runtime::Options &how = options()) {
  expect_same_bits(chain(layers, {free_dim, free_dim, features}), features, steps, {}, how);
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

// So much work that threads divide it, by rows or columns.
TEST(StreamChunks, WideLayersAreDividedAmongThreads) {
  const runtime::Options two = options(2);
  expect_same_bits({{"Dense", R"({"units": 1000, "activation": "relu"})"}, {"Dense", R"({"units": 700})"}}, 600, 32,
                   two);
  expect_same_bits({{"Conv1D", filters(400, "5")}, {"Conv1D", filters(300, R"(3, "dilation_rate": 2)")}}, 300, 32, two);
  for (const char *kind : {"GRU", "LSTM"}) expect_same_bits({{kind, sequences_of(400)}}, 300, 32, two);
}

TEST(StreamChunks, NarrowWeightsToo) {
  using kernels::WeightType;
  runtime::Options how = options(2);
  for (const WeightType type : {WeightType::bfloat16, WeightType::int8, WeightType::int4}) {
    SCOPED_TRACE(static_cast<int>(type));
    how.plan.weights = type;
    expect_same_bits({{"Dense", R"({"units": 128})"}, {"Dense", R"({"units": 96, "activation": "tanh"})"}}, 64, 32,
                     how);
    expect_same_bits({{"Conv1D", filters(96, "4")}, {"GRU", sequences_of(96)}}, 64, 32, how);
    expect_same_bits({{"LSTM", sequences_of(96)}}, 64, 32, how);
  }
  // Enough for four bits.
  expect_same_bits({{"Dense", R"({"units": 256})"}, {"GRU", sequences_of(224)}}, 512, 32, how);
  expect_same_bits({{"LSTM", sequences_of(192)}}, 256, 32, how);
}

// The keys of a chunk's earlier steps push out older ones that its first queries still see.
TEST(StreamChunks, CausalAttentionSeesTheCacheAsItWasAtEachStep) {
  for (int64_t cache : {3, 8, 31, 40, 64, 300})
    for (bool first_late : {false, true}) {
      SCOPED_TRACE(cache);
      Net g;
      const Node x = g.input("x", {free_dim, free_dim, 6});
      const Node from = first_late ? g.add("Conv1D", R"({"filters": 5, "kernel_size": 4})", {x}) : x;
      const Node y = g.add("MultiHeadAttention", R"({"num_heads": 2, "key_dim": 5})",
                           {g.add("Dense", R"({"units": 8})", {from}), from}, R"({"use_causal_mask": true})");
      const Node z = g.add("Dense", R"({"units": 7, "activation": "relu"})", {y});
      expect_same_bits(g.model({x}, {z}), 6, 32, {cache, true});
    }
}

TEST(StreamChunks, ASumOfAllStepsIsAddedStepByStep) {
  expect_same_bits({{"Dense", R"({"units": 5})"}, {"GlobalAveragePooling1D", "{}"}}, 3, 1);
  expect_same_bits({{"Dense", R"({"units": 5})"}, {"GlobalMaxPooling1D", "{}"}}, 3, 32);
}

TEST(StreamChunks, AFailureInTheMiddleLeavesItWhereItWas) {
  const runtime::Ticks ticks = streamed(chain(
      {{"Embedding", R"({"input_dim": 5, "output_dim": 3})"}, {"Conv1D", filters(4, "3")}, {"GRU", sequences_of(4)}},
      {free_dim, free_dim}, DType::i32));
  EXPECT_EQ(at_once(ticks), 32);
  runtime::Stream a(ticks, 1), b(ticks, 1);
  const Tensor x = make_tensor(DType::i32, {1, 100});
  for (int i = 0; i < 100; ++i) x.as<int32_t>()[i] = i * 3 % 5;
  const auto both = [&](const std::vector<int64_t> &cuts) {
    EXPECT_EQ(in_cuts(a, ticks, x, cuts), in_cuts(b, ticks, x, cuts));
  };
  both({0, 7});
  x.as<int32_t>()[80] = 5;
  EXPECT_NE(refused(Code::invalid_argument, [&] { in_cuts(a, ticks, x, {0, 100}); }), "");
  x.as<int32_t>()[80] = 1;
  both({0, 100});
  both({0, 40});
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
