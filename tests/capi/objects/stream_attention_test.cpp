// Streams of attention: to a memory that is the same at all steps, and what is refused by the layer's name.
#include <cmath>
#include <functional>
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
  ok(dl4_graph_add(g, c.kind, "looks", attrs(c.config), attrs(c.call), in, 2, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

Refusal streamed(dl4_model *m) {
  Own<dl4_session> s;
  return refusal(dl4_session_create(m, R"({"streamable": true, "cache": 16})", s.out()));
}

TEST(StreamAttention, WhatLooksOtherwiseIsRefusedByName) {
  const std::string causal = R"({"use_causal_mask": true})";
  const std::string scores = R"({"use_causal_mask": true, "return_attention_scores": true})";
  const std::vector<Refused> cases = {
      {"MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3, "sliding_window": 3})", causal},
      {"GroupQueryAttention", R"({"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 3, "sliding_window": 3})",
       causal},
      {"MultiHeadAttention", heads, scores},
      {"Attention", "{}", scores},
      {"Attention", R"({"score_mode": "concat"})", causal},
      {"AdditiveAttention", "{}", causal},
  };
  for (const Refused &c : cases) {
    SCOPED_TRACE(c.kind + c.config + c.call);
    const Refusal r = streamed(over_itself(c));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED);
    EXPECT_EQ(r.message, std::string("dl4_session_create: \"streamable\": layer \"looks\" (") + c.kind +
                             "): its output at one step depends on other steps");
  }
  EXPECT_EQ(streamed(over_itself({"MultiHeadAttention", heads, causal})).code, 0);
}

TEST(StreamAttention, AMemoryIsTheSameAtAllSteps) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node inputs[] = {input(g, "x", {-1, -1, 4}), input(g, "memory", {-1, 5, 6})};
  dl4_node y = -1;
  ok(dl4_graph_add(g, "MultiHeadAttention", nullptr, attrs(heads), nullptr, inputs, 2, &y, 1));
  ok(dl4_graph_build(g, inputs, 2, &y, 1, m.out()));
  auto s = session(m, R"({"streamable": true})");
  constexpr int64_t steps = 12;
  const auto drawn = [](const std::vector<int64_t> &dims, float scale) {
    std::vector<float> v(static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies())));
    for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(scale * static_cast<float>(i));
    return tensor(dims, v);
  };
  auto x = drawn({2, steps, 4}, 0.7f), memory = drawn({2, 5, 6}, 1.3f);
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

}  // namespace
