// Streams: nets of layers one behind the other, run in parts.
#pragma once

#include <cstring>

#include "capi/use.hpp"

namespace dl4_test {

struct Layer {
  const char *kind;
  std::string config;
};

// x [B, T, F] (or [B, T] ids) through the layers, one behind the other.
inline Own<dl4_model> model(const std::vector<Layer> &layers, std::vector<int64_t> dims = {-1, -1, 3},
                            int32_t dtype = DL4_FLOAT32) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", dims, dtype);
  dl4_node y = x;
  for (const Layer &l : layers) y = add(g, l.kind, nullptr, l.config, y);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

inline Own<dl4_session> session(const dl4_model *m, const std::string &options = R"({"states": true})") {
  Own<dl4_session> s;
  ok(dl4_session_create(m, options.c_str(), s.out()));
  return s;
}

inline Own<dl4_stream> stream(dl4_session *s, int64_t batch = 1) {
  Own<dl4_stream> t;
  ok(dl4_stream_create(s, (R"({"batch": )" + std::to_string(batch) + "}").c_str(), t.out()));
  return t;
}

// Steps [from, to) of a dense [B, T, ...].
inline Own<dl4_tensor> part(dl4_tensor *whole, int64_t from, int64_t to) {
  const auto rank = dl4_tensor_rank(whole);
  std::vector<int64_t> dims(dl4_tensor_dims(whole), dl4_tensor_dims(whole) + rank);
  const int64_t batch = dims[0], all = dims[1], step = dl4_tensor_bytes(whole) / batch / all;
  dims[1] = to - from;
  Own<dl4_tensor> t;
  ok(dl4_tensor_create(nullptr, dl4_tensor_dtype(whole), rank, dims.data(), t.out()));
  for (int64_t b = 0; b < batch; ++b)
    std::memcpy(static_cast<char *>(dl4_tensor_data(t)) + b * (to - from) * step,
                static_cast<char *>(dl4_tensor_data(whole)) + (b * all + from) * step,
                static_cast<size_t>((to - from) * step));
  return t;
}

inline Own<dl4_tensor> take(dl4_stream *s, dl4_tensor *x) {
  dl4_tensor *out = nullptr;
  ok(dl4_stream_run(s, &x, 1, &out, 1, nullptr));
  return out;
}

// What the stream gives for x in these cuts: all steps of a sequence, or what the last cut gave.
inline std::vector<float> in_cuts(dl4_stream *s, dl4_tensor *x, const std::vector<int64_t> &cuts) {
  const int64_t batch = dl4_tensor_dims(x)[0];
  std::vector<std::vector<float>> rows(static_cast<size_t>(batch));
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    auto y = take(s, part(x, cuts[i], cuts[i + 1]));
    const auto v = floats(y);
    int64_t dims[8];
    int32_t rank = 0;
    ok(dl4_port_shape(s, DL4_OUTPUTS, 0, dims, 8, &rank));
    const bool sequence = rank >= 2 && dims[1] < 0;
    const size_t each = v.size() / rows.size();
    for (size_t b = 0; b < rows.size(); ++b) {
      if (!sequence) rows[b].clear();
      rows[b].insert(rows[b].end(), v.begin() + static_cast<ptrdiff_t>(b * each),
                     v.begin() + static_cast<ptrdiff_t>((b + 1) * each));
    }
  }
  std::vector<float> all;
  for (const auto &r : rows) all.insert(all.end(), r.begin(), r.end());
  return all;
}

inline void expect_near(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
}

}  // namespace dl4_test
