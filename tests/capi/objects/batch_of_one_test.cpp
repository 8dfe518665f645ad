// Queries, values or keys of one sample beside a batch of them, where a graph knows neither size.
#include <nlohmann/json.hpp>

#include "capi/net.hpp"

namespace {

using namespace dl4_test;

struct Layer {
  const char *kind, *config;
};
constexpr Layer layers[] = {
    {"Attention", "{}"},
    {"Attention", R"({"score_mode": "concat"})"},
    {"AdditiveAttention", "{}"},
    {"MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3})"},
    {"GroupQueryAttention", R"({"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2})"},
};

struct Sequences {
  int64_t steps;
  std::vector<float> values;  // of a sample
};

Own<dl4_tensor> batch_of(int64_t n, const Sequences &one, bool same) {
  std::vector<float> all;
  for (int64_t i = 0; i < n; ++i)
    for (float v : one.values) all.push_back(same ? v : v + 0.1f * static_cast<float>(i));
  return tensor({n, one.steps, 4}, all);
}

// y by sources of which those in `alone` are of one sample, and by the same ones repeated.
void expect_same(const Layer &l, const std::vector<int> &alone, bool masked, const char *call) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const std::vector<dl4_node> in{input(g, "query", {-1, -1, 4}), input(g, "value", {-1, -1, 4}),
                                 input(g, "key", {-1, -1, 4})};
  std::vector<dl4_node> given = in;
  if (masked) {
    given[1] = add(g, "Masking", nullptr, "{}", in[1]);
    given[2] = add(g, "Masking", nullptr, "{}", in[2]);
  }
  dl4_node y = -1;
  ok(dl4_graph_add(g, l.kind, "attention", l.config, call, nullptr, given.data(), 3, &y, 1));
  ok(dl4_graph_build(g, in.data(), 3, &y, 1, m.out()));

  std::vector<float> numbers_of = numbers(24);
  for (int i = 8; i < 12; ++i) numbers_of[static_cast<size_t>(i)] = 0;  // a masked step where it is alone
  const Sequences of[] = {{3, {numbers_of.begin() + 12, numbers_of.end()}}, {5, numbers(20)}, {5, numbers_of}};
  std::vector<Own<dl4_tensor>> few, many;
  for (int i = 0; i < 3; ++i) {
    Sequences one = of[i];
    one.values.resize(static_cast<size_t>(one.steps) * 4);
    const bool of_one = std::find(alone.begin(), alone.end(), i) != alone.end();
    few.push_back(batch_of(of_one ? 1 : 3, one, of_one));
    many.push_back(batch_of(3, one, of_one));
  }
  const auto values = [&](const std::vector<Own<dl4_tensor>> &all) { return run(m, {all[0], all[1], all[2]})[0]; };
  const std::vector<float> a = values(few), b = values(many);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << i;
}

TEST(BatchOfOne, AttentionBroadcasts) {
  for (const Layer &l : layers)
    for (const std::vector<int> &alone : {std::vector{0}, {1}, {2}, {1, 2}, {0, 1}})
      for (bool masked : {false, true})
        for (const char *call : {"{}", R"({"use_causal_mask": true})"}) {
          SCOPED_TRACE(std::string(l.kind) + l.config + std::to_string(alone[0]) + call);
          expect_same(l, alone, masked, call);
        }
}

TEST(BatchOfOne, OtherSizesAreRefused) {
  for (const Layer &l : layers) {
    SCOPED_TRACE(l.kind);
    Own<dl4_graph> g;
    Own<dl4_model> m;
    Own<dl4_session> s;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node in[] = {input(g, "query", {-1, -1, 4}), input(g, "value", {-1, -1, 4})};
    dl4_node y = -1;
    ok(dl4_graph_add(g, l.kind, "attention", l.config, nullptr, nullptr, in, 2, &y, 1));
    ok(dl4_graph_build(g, in, 2, &y, 1, m.out()));
    ok(dl4_session_create(m, nullptr, s.out()));
    Own<dl4_tensor> query = tensor({2, 3, 4}), value = tensor({3, 5, 4});
    dl4_tensor *given[] = {query, value}, *out = nullptr;
    EXPECT_EQ(refusal(dl4_session_run(s, given, 2, &out, 1, nullptr)).code, DL4_SHAPE_MISMATCH);
    EXPECT_EQ(out, nullptr);
  }
}

}  // namespace
