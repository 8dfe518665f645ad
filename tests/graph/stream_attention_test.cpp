// Streams of attention: to a memory that is the same at all steps, and what is refused by the layer's name.
#include <limits>

#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

const std::string heads = R"({"num_heads": 2, "key_dim": 3})";
const std::string causal = R"({"use_causal_mask": true})";
const std::string scores = R"({"use_causal_mask": true, "return_attention_scores": true})";

struct Streams {
  const char *kind;
  std::string config, call;
  int64_t missing = 0;  // last steps, of which a stream does not know what follows
  int64_t cache = 60;
};

// Over what comes out of these layers, as query and value.
Model behind(const std::vector<LayerOf> &layers, const Streams &c, bool alike) {
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 4});
  Node q = x;
  for (const LayerOf &l : layers) q = g.add(l.kind, l.config, {q});
  const Node v = alike ? q : g.add("Dense", R"({"units": 4})", {q});
  return g.model({x}, {g.add(c.kind, "looks", Json::parse(c.config), {q, v}, {Json::parse(c.call), {}})});
}

const std::string window = R"("num_heads": 2, "key_dim": 3, "sliding_window": 3)";

TEST(StreamAttention, WhatIsComposedOfScoresKeepsItsKeys) {
  const std::string groups = R"({"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 3, "sliding_window": 5})";
  const std::vector<Streams> cases = {
      {"MultiHeadAttention", "{" + window + "}", causal, 0, 0},
      {"MultiHeadAttention", "{" + window + "}", "{}", 2, 0},
      {"GroupQueryAttention", groups, causal, 0, 0},
      {"GroupQueryAttention", groups, "{}", 4, 0},
      {"MultiHeadAttention", heads, scores},
      {"Attention", "{}", scores},
      {"Attention", R"({"score_mode": "concat", "use_scale": true})", causal},
      {"AdditiveAttention", "{}", causal},
      {"AdditiveAttention", R"({"use_scale": false})", scores},
      {"GlobalAttention", R"({"score": "concat", "units": 3})", causal},
      {"GlobalAttention", R"({"score": "content"})", causal},
      {"GlobalAttention", R"({"score": "scaled", "distribution": "hardmax"})", causal},
      {"GlobalAttention", R"({"score": "general", "temperature": 0.5})", causal},
      {"GlobalAttention", R"({"score": "content", "temperature": 3})", scores},
      {"GlobalAttention", R"({"distribution": "sparsemax"})", causal},
      {"GlobalAttention", R"({"score": "concat", "distribution": "sparsemax", "temperature": 2})", scores},
      {"LocalAttention", R"({"window": 3})", causal, 0, 0},
      {"LocalAttention", R"({"window": 3})", "{}", 3, 0},
      {"LocalAttention", R"({"window": 2, "gaussian": true, "score": "general"})", "{}", 2, 0},
  };
  for (const Streams &c : cases) {
    SCOPED_TRACE(c.kind + c.config + c.call);
    expect_streams(behind({}, c, true), {4}, {c.missing, c.cache});
    expect_streams(behind({{"LSTM", R"({"units": 4, "return_sequences": true})"}}, c, false), {4},
                   {c.missing, c.cache});
    // Two steps at a time, late by one.
    expect_streams(behind({{"Conv1D", R"({"filters": 4, "kernel_size": 3})"},
                           {"UpSampling1D", R"({"size": 2})"},
                           {"Conv1D", R"({"filters": 4, "kernel_size": 2, "padding": "causal"})"}},
                          c, false),
                   {4}, {std::nullopt, c.missing ? c.cache : 100});
  }
}

// Steps whose features are all 0 are masked, as queries and as values.
TEST(StreamAttention, MasksOfTheSequenceItself) {
  const std::vector<LayerOf> masked = {{"ReLU", "{}"}, {"Masking", "{}"}};
  for (const Streams &c : std::vector<Streams>{
           {"Attention", "{}", causal},
           {"Attention", "{}", scores},
           {"AdditiveAttention", "{}", causal},
           {"GlobalAttention", R"({"score": "concat"})", causal},
           {"MultiHeadAttention", heads, scores},
           {"LocalAttention", R"({"window": 3})", causal},
           {"MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3, "dropout": 0.1, "sliding_window": 3})", causal}}) {
    SCOPED_TRACE(c.kind + c.config + c.call);
    expect_streams(behind(masked, c, true), {4}, {.cache = 60});
  }
}

// The oldest keys go.
TEST(StreamAttention, ScoresOfTheLatestSteps) {
  const Model m = behind({}, {"AdditiveAttention", "{}", causal}, true);
  const Tensor x = random_tensor({2, 50, 4}, 4);
  EXPECT_NE(refused(Code::unsupported, [&] { in_cuts(streamed(m, {5}), x, {0, 50}); }), "");
  const runtime::Ticks sliding = streamed(m, {5, true});
  const auto whole = in_cuts(sliding, x, {0, 50});
  for (int64_t length : {1, 7}) EXPECT_EQ(in_cuts(sliding, x, cuts_of(50, length)), whole);
  const auto expected = floats(run(m, {part(x, 45, 50)})[0]);
  expect_close({whole.end() - 4, whole.end()}, {expected.end() - 4, expected.end()});
}

// What it has seen before its window, and other streams have, is not there: not even a NaN.
TEST(StreamAttention, ANaNGoesWithItsStep) {
  const Model m = behind({}, {"MultiHeadAttention", "{" + window + "}", causal}, true);
  const Tensor x = random_tensor({1, 20, 4}, 5);
  x.as<float>()[4 * 10] = std::numeric_limits<float>::quiet_NaN();
  const auto y = in_cuts(streamed(m), x, cuts_of(20, 7));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 4 >= 10 && i / 4 < 13) << i;
}

TEST(StreamAttention, WhatLooksOtherwiseIsRefusedByName) {
  const std::string later = "its attention sees later steps; with \"use_causal_mask\" it streams";
  const std::string mixes = "its output at one step depends on other steps";
  const auto why = [](const Model &m, int64_t cache = 16) {
    return refused(Code::unsupported, [&] { streamed(m, {cache}); });
  };
  const std::vector<std::pair<Streams, std::string>> cases = {
      {{"AdditiveAttention", "{}", "{}"}, later},
      {{"Attention", "{}", R"({"return_attention_scores": true})"}, later},
      {{"GlobalAttention", R"({"score": "concat"})", "{}"}, later},
      {{"LocalAttention", R"({"window": 2, "alignment": "predictive"})", causal},
       "it needs the end of the sequence at each step"},
      {{"GlobalAttention", R"({"distribution": "sparsemax"})", "{}"}, later},
      {{"GlobalAttention", R"({"temperature": 1e6})", causal}, later},
      {{"GlobalAttention", R"({"temperature": null})", causal}, mixes},
  };
  for (const auto &[c, reason] : cases)
    EXPECT_EQ(why(behind({}, c, true)), text("layer \"looks\" (", c.kind, "): ", reason)) << c.config << c.call;
  // A cache, where no window says how many keys there are.
  EXPECT_EQ(why(behind({}, {"AdditiveAttention", "{}", causal}, true), 0),
            "layer \"looks\" (AdditiveAttention): it keeps keys and values: the session's option \"cache\" must say of "
            "how many steps");
  // Masked queries of MultiHeadAttention see all keys alike.
  EXPECT_NE(why(behind({{"Masking", "{}"}}, {"MultiHeadAttention", heads, causal}, true)), "");
  // Scores of all steps are no sequence.
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 4});
  const std::vector<Node> y = g.graph->add("Attention", "looks", Json::object(), {Json::parse(scores), {}}, {x, x}, 2);
  EXPECT_EQ(why(g.model({x}, y)), "output 1 has a second axis of steps");
}

void expect_memory(const Streams &c) {
  SCOPED_TRACE(c.kind + c.config + c.call);
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 4}), memory = g.input("memory", {free_dim, 5, 4});
  const runtime::Ticks ticks = streamed(g.model({x, memory}, {g.add(c.kind, c.config, {x, memory}, c.call)}));
  const Tensor sequence = random_tensor({2, 12, 4}, 1), beside = random_tensor({2, 5, 4}, 2);
  const auto whole = in_cuts(ticks, sequence, {0, 12}, {beside});
  for (const int64_t each : {1, 5}) EXPECT_EQ(in_cuts(ticks, sequence, cuts_of(12, each), {beside}), whole) << each;
}

TEST(StreamAttention, AMemoryIsTheSameAtAllSteps) {
  expect_memory({"MultiHeadAttention", heads, "{}"});
  expect_memory({"MultiHeadAttention", heads, R"({"return_attention_scores": true})"});
  expect_memory({"GroupQueryAttention", R"({"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 3})", "{}"});
  expect_memory({"Attention", "{}", "{}"});
  expect_memory({"Attention", R"({"score_mode": "concat"})", "{}"});
  expect_memory({"AdditiveAttention", "{}", "{}"});
  expect_memory({"GlobalAttention", R"({"score": "location"})", "{}"});
  expect_memory({"GlobalAttention", R"({"distribution": "sparsemax", "temperature": 2})", "{}"});
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
