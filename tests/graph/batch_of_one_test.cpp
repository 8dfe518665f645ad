// Queries, values or keys of one sample beside a batch of them, where a graph knows neither size.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

const LayerOf layers[] = {
    {"Attention", "{}"},
    {"Attention", R"({"score_mode": "concat"})"},
    {"AdditiveAttention", "{}"},
    {"MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3})"},
    {"GroupQueryAttention", R"({"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2})"},
};

// n samples; `same`: the first one again and again.
Tensor batch_of(int64_t n, const Tensor &samples, bool same) {
  Tensor t = make_tensor(DType::f32, samples.shape.with(0, n));
  const int64_t bytes = samples.bytes() / samples.shape[0];
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(t.data.get() + i * bytes, samples.data.get() + (same ? 0 : i * bytes), static_cast<size_t>(bytes));
  return t;
}

TEST(BatchOfOne, AttentionBroadcasts) {
  Tensor samples[] = {random_tensor({3, 3, 4}, 1), random_tensor({3, 5, 4}, 2), random_tensor({3, 5, 4}, 3)};
  std::fill_n(samples[2].as<float>() + 8, 4, 0.f);  // a masked step where it is alone
  for (const LayerOf &l : layers)
    for (bool masked : {false, true})
      for (const char *call : {"{}", R"({"use_causal_mask": true})"}) {
        Net g;
        const std::vector<Node> in{g.input("query", {free_dim, free_dim, 4}), g.input("value", {free_dim, free_dim, 4}),
                                   g.input("key", {free_dim, free_dim, 4})};
        std::vector<Node> given = in;
        for (size_t i = 1; masked && i < 3; ++i) given[i] = g.add("Masking", "{}", {in[i]});
        const Model m = g.model(in, {g.add(l.kind, l.config, given, call)});
        for (const std::vector<int> &alone : {std::vector{0}, {1}, {2}, {1, 2}, {0, 1}}) {
          SCOPED_TRACE(text(l.kind, l.config, alone[0], call));
          std::vector<Tensor> few, many;
          for (int i = 0; i < 3; ++i) {
            const bool one = std::find(alone.begin(), alone.end(), i) != alone.end();
            few.push_back(batch_of(one ? 1 : 3, samples[i], one));
            many.push_back(batch_of(3, samples[i], one));
          }
          expect_close(floats(run(m, few)[0]), floats(run(m, many)[0]));
        }
      }
}

TEST(BatchOfOne, OtherSizesAreRefused) {
  for (const LayerOf &l : layers) {
    Net g;
    const Node query = g.input("query", {free_dim, free_dim, 4}), value = g.input("value", {free_dim, free_dim, 4});
    const Model m = g.model({query, value}, {g.add(l.kind, l.config, {query, value})});
    EXPECT_NE(refused(Code::shape_mismatch,
                      [&] {
                        run(m, {random_tensor({2, 3, 4}, 1), random_tensor({3, 5, 4}, 1)});
                      }),
              "")
        << l.kind;
  }
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
