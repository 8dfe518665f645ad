// Streams of attention: to a memory that is the same at all steps, and what is refused by the layer's name.
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "capi/streams.hpp"

namespace {

using namespace dl4_test;

const std::string heads = R"({"num_heads": 2, "key_dim": 3})";

struct Refused {
  const char *kind;
  std::string config, call;
};

// A layer over one sequence, as query and value.
Own<dl4_model> over_itself(const Refused &c) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, 4}), in[] = {x, x};
  dl4_node y = -1;
  ok(dl4_graph_add(g, c.kind, "looks", c.config.c_str(), c.call.c_str(), nullptr, in, 2, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

Refusal streamed(dl4_model *m) {
  Own<dl4_session> s;
  return refusal(dl4_session_create(m, R"({"streamable": true, "cache": 16})", s.out()));
}

const std::string causal = R"({"use_causal_mask": true})";
const std::string scores = R"({"use_causal_mask": true, "return_attention_scores": true})";
const std::string all = R"(, "cache": 60)";

struct Streams {
  const char *kind;
  std::string config, call;
  int64_t missing = 0;  // last steps, of which a stream does not know what follows
  std::string options = all;
};

// Over what comes out of these layers, as query and value.
Own<dl4_model> behind(const std::vector<Layer> &layers, const Streams &c, bool alike) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, 4});
  dl4_node q = x, y = -1;
  for (const Layer &l : layers) q = add(g, l.kind, nullptr, l.config, q);
  const dl4_node in[] = {q, alike ? q : add(g, "Dense", nullptr, R"({"units": 4})", q)};
  ok(dl4_graph_add(g, c.kind, "looks", c.config.c_str(), c.call.c_str(), nullptr, in, 2, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

const std::string window = R"("num_heads": 2, "key_dim": 3, "sliding_window": 3)";

TEST(StreamAttention, WhatIsComposedOfScoresKeepsItsKeys) {
  const std::string groups = R"({"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 3, "sliding_window": 5})";
  const std::vector<Streams> cases = {
      {"MultiHeadAttention", "{" + window + "}", causal, 0, ""},
      {"MultiHeadAttention", "{" + window + "}", "{}", 2, ""},
      {"GroupQueryAttention", groups, causal, 0, ""},
      {"GroupQueryAttention", groups, "{}", 4, ""},
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
      {"LocalAttention", R"({"window": 3})", causal, 0, ""},
      {"LocalAttention", R"({"window": 3})", "{}", 3, ""},
      {"LocalAttention", R"({"window": 2, "gaussian": true, "score": "general"})", "{}", 2, ""},
  };
  for (const Streams &c : cases) {
    SCOPED_TRACE(c.kind + c.config + c.call);
    expect_streams(behind({}, c, true), {4}, c.missing, c.options);
    expect_streams(behind({{"LSTM", R"({"units": 4, "return_sequences": true})"}}, c, false), {4}, c.missing,
                   c.options);
    // Two steps at a time, late by one.
    expect_streams(behind({{"Conv1D", R"({"filters": 4, "kernel_size": 3})"},
                           {"UpSampling1D", R"({"size": 2})"},
                           {"Conv1D", R"({"filters": 4, "kernel_size": 2, "padding": "causal"})"}},
                          c, false),
                   {4}, std::nullopt, c.missing ? c.options : R"(, "cache": 100)");
  }
}

// Steps whose features are all 0 are masked, as queries and as values.
TEST(StreamAttention, MasksOfTheSequenceItself) {
  const std::vector<Layer> masked = {{"ReLU", "{}"}, {"Masking", "{}"}};
  for (const Streams &c : std::vector<Streams>{
           {"Attention", "{}", causal},
           {"Attention", "{}", scores},
           {"AdditiveAttention", "{}", causal},
           {"GlobalAttention", R"({"score": "concat"})", causal},
           {"MultiHeadAttention", heads, scores},
           {"LocalAttention", R"({"window": 3})", causal},
           {"MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3, "dropout": 0.1, "sliding_window": 3})", causal}}) {
    SCOPED_TRACE(c.kind + c.config + c.call);
    expect_streams(behind(masked, c, true), {4}, 0, all);
  }
}

// The oldest keys go.
TEST(StreamAttention, ScoresOfTheLatestSteps) {
  const Streams c{"AdditiveAttention", "{}", causal};
  auto m = behind({}, c, true);
  auto x = random_tensor({2, 50, 4}, 4);
  auto bounded = session(m, R"({"streamable": true, "cache": 5})");
  dl4_tensor *in = x, *out = nullptr;
  EXPECT_EQ(refusal(dl4_stream_run(stream(bounded, 2), &in, 1, &out, 1, nullptr)).code, DL4_UNSUPPORTED);
  auto sliding = session(m, R"({"streamable": true, "cache": 5, "cache_full": "slide"})");
  const auto whole = in_cuts(stream(sliding, 2), x, cuts_of(50, 50));
  for (int64_t length : {1, 7}) EXPECT_EQ(in_cuts(stream(sliding, 2), x, cuts_of(50, length)), whole);
  int64_t steps = 0;
  const auto expected = run_whole(session(m, "{}"), part(x, 45, 50), &steps);
  expect_close({whole.end() - 4, whole.end()}, {expected.end() - 4, expected.end()});
}

// What it has seen before its window, and other streams have, is not there: not even a NaN.
TEST(StreamAttention, ANaNGoesWithItsStep) {
  auto m = behind({}, {"MultiHeadAttention", "{" + window + "}", causal}, true);
  auto s = session(m, R"({"streamable": true})");
  auto t = stream(s);
  auto x = random_tensor({1, 20, 4}, 5);
  static_cast<float *>(dl4_tensor_data(x))[4 * 10] = std::numeric_limits<float>::quiet_NaN();
  const auto y = in_cuts(t, x, cuts_of(20, 7));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 4 >= 10 && i / 4 < 13) << i;
}

TEST(StreamAttention, WhatLooksOtherwiseIsRefusedByName) {
  const std::string later = "its attention sees later steps; with \"use_causal_mask\" it streams";
  const std::string mixes = "its output at one step depends on other steps";
  struct Case {
    Refused what;
    std::string why;
  };
  const std::vector<Case> cases = {
      {{"AdditiveAttention", "{}", "{}"}, later},
      {{"Attention", "{}", R"({"return_attention_scores": true})"}, later},
      {{"GlobalAttention", R"({"score": "concat"})", "{}"}, later},
      {{"LocalAttention", R"({"window": 2, "alignment": "predictive"})", causal},
       "it needs the end of the sequence at each step"},
      {{"GlobalAttention", R"({"distribution": "sparsemax"})", "{}"}, later},
      {{"GlobalAttention", R"({"temperature": 1e6})", causal}, later},
      {{"GlobalAttention", R"({"temperature": null})", causal}, mixes},
  };
  for (const auto &[c, why] : cases) {
    SCOPED_TRACE(c.kind + c.config + c.call);
    const Refusal r = streamed(over_itself(c));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED);
    EXPECT_EQ(r.message, std::string("dl4_session_create: \"streamable\": layer \"looks\" (") + c.kind + "): " + why);
  }
  // A cache, where no window says how many keys there are.
  Own<dl4_session> s;
  const Refusal none =
      refusal(dl4_session_create(over_itself({"AdditiveAttention", "{}", causal}), R"({"streamable": true})", s.out()));
  EXPECT_EQ(none.message,
            "dl4_session_create: \"streamable\": layer \"looks\" (AdditiveAttention): it keeps keys and values: the "
            "session's option \"cache\" must say of how many steps");
  // Masked queries of MultiHeadAttention see all keys alike.
  const Refusal blind = streamed(behind({{"Masking", "{}"}}, {"MultiHeadAttention", heads, causal}, true));
  EXPECT_EQ(blind.code, DL4_UNSUPPORTED);
  // Scores of all steps are no sequence.
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, 4}), in[] = {x, x};
  dl4_node y[2];
  ok(dl4_graph_add(g, "Attention", "looks", nullptr, scores.c_str(), nullptr, in, 2, y, 2));
  ok(dl4_graph_build(g, &x, 1, y, 2, m.out()));
  EXPECT_EQ(streamed(m).message, "dl4_session_create: \"streamable\": output 1 has a second axis of steps");
}

void expect_memory(const Refused &c) {
  SCOPED_TRACE(c.kind + c.config + c.call);
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node inputs[] = {input(g, "x", {-1, -1, 4}), input(g, "memory", {-1, 5, 4})};
  dl4_node y = -1;
  ok(dl4_graph_add(g, c.kind, nullptr, c.config.c_str(), c.call.c_str(), nullptr, inputs, 2, &y, 1));
  ok(dl4_graph_build(g, inputs, 2, &y, 1, m.out()));
  auto s = session(m, R"({"streamable": true})");
  constexpr int64_t steps = 12;
  const auto drawn = [](const std::vector<int64_t> &dims, float scale) {
    std::vector<float> v(static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies())));
    for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(scale * static_cast<float>(i));
    return tensor(dims, v);
  };
  auto x = drawn({2, steps, 4}, 0.7f), memory = drawn({2, 5, 4}, 1.3f);
  const auto run = [&](auto call, dl4_tensor *sequence) {
    dl4_tensor *const in[] = {sequence, memory};
    Own<dl4_tensor> out;
    ok(call(in, out.out()));
    return floats(out);
  };
  const auto whole = run([&](auto in, auto out) { return dl4_session_run(s, in, 2, out, 1, nullptr); }, x);
  ASSERT_EQ(whole.size(), static_cast<size_t>(2 * steps * 4));
  for (const int64_t each : {1, 5, 12}) {
    SCOPED_TRACE(each);
    auto t = stream(s, 2);
    for (int64_t at = 0; at < steps; at += each) {
      const int64_t n = std::min(each, steps - at);
      const auto got =
          run([&](auto in, auto out) { return dl4_stream_run(t, in, 2, out, 1, nullptr); }, part(x, at, at + n));
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t i = 0; i < n * 4; ++i)
          ASSERT_EQ(got[static_cast<size_t>(b * n * 4 + i)], whole[static_cast<size_t>((b * steps + at) * 4 + i)]);
    }
  }
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
