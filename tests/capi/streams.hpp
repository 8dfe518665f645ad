// Streams: nets of layers one behind the other, run in parts.
#pragma once

#include <cmath>
#include <cstring>
#include <random>

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

// The number of steps that a stream of the session takes at a time.
inline int64_t steps_at_a_time(dl4_session *s) {
  return nlohmann::json::parse(described(s, DL4_FORMAT_JSON)).at("stream").at("steps");
}

inline std::vector<float> of_whole(dl4_model *m, dl4_tensor *x) {
  auto s = session(m, "{}");
  dl4_tensor *out = nullptr;
  ok(dl4_session_run(s, &x, 1, &out, 1, nullptr));
  return floats(Own<dl4_tensor>(out));
}

inline void expect_near(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
}

inline Own<dl4_tensor> random_tensor(const std::vector<int64_t> &dims, uint32_t seed) {
  std::mt19937 draw(seed);
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  std::vector<float> values(n);
  for (float &v : values) v = static_cast<float>(static_cast<double>(draw()) / 2147483648.0 - 1);
  return tensor(dims, values);
}

inline std::vector<int64_t> cuts_of(int64_t n, int64_t each) {
  std::vector<int64_t> cuts{0};
  while (cuts.back() < n) cuts.push_back(std::min(n, cuts.back() + each));
  return cuts;
}

// Of [B, T, ...] values the first `steps` of each sequence.
inline std::vector<float> first_steps(const std::vector<float> &v, int64_t batch, int64_t all, int64_t steps) {
  std::vector<float> out;
  const int64_t row = all ? static_cast<int64_t>(v.size()) / batch / all : 0;
  for (int64_t b = 0; b < batch; ++b) {
    const auto from = v.begin() + static_cast<ptrdiff_t>(b * all * row);
    out.insert(out.end(), from, from + static_cast<ptrdiff_t>(steps * row));
  }
  return out;
}

inline std::vector<float> run_whole(dl4_session *s, dl4_tensor *x, int64_t *steps) {
  dl4_tensor *out = nullptr;
  ok(dl4_session_run(s, &x, 1, &out, 1, nullptr));
  Own<dl4_tensor> y(out);
  *steps = dl4_tensor_rank(y) > 1 ? dl4_tensor_dims(y)[1] : 0;
  return floats(y);
}

inline void expect_close(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 2e-5 * std::max(1.0f, std::abs(b[i]))) << "value " << i << " of " << a.size();
}

// `missing`: of the steps that the session gives the last ones, which depend on where the sequence ends; none: not
// looked at.
inline void expect_streams(dl4_model *m, const std::vector<int64_t> &tail, std::optional<int64_t> missing = 0,
                           const std::string &options = "", std::initializer_list<int64_t> lengths = {1, 7, 160},
                           int64_t least = 40) {
  auto s = session(m, R"({"streamable": true)" + options + "}"), plain = session(m, "{}");
  const int64_t each = steps_at_a_time(s), n = (least + each - 1) / each * each;
  for (int64_t batch : {1, 3}) {
    SCOPED_TRACE(batch);
    std::vector<int64_t> dims{batch, n};
    dims.insert(dims.end(), tail.begin(), tail.end());
    auto x = random_tensor(dims, 7);
    int64_t steps = 0, all = 0;
    const auto whole = run_whole(s, x, &steps), expected = run_whole(plain, x, &all);
    int64_t port[8];
    int32_t rank = 0;
    ok(dl4_port_shape(s, DL4_OUTPUTS, 0, port, 8, &rank));
    if (rank >= 2 && port[1] < 0) {
      ASSERT_LE(steps, all);
      if (missing) {
        EXPECT_EQ(steps, all - *missing);
      }
      ASSERT_NO_FATAL_FAILURE(expect_close(whole, first_steps(expected, batch, all, steps)));
    } else {
      ASSERT_NO_FATAL_FAILURE(expect_close(whole, expected));
    }
    for (int64_t length : lengths) {
      SCOPED_TRACE(length);
      auto t = stream(s, batch);
      ASSERT_EQ(in_cuts(t, x, cuts_of(n, length)), whole);
    }
    // Half of it, the other half by a stream that is given the states of the first.
    auto t = stream(s, batch), next = stream(s, batch);
    auto half = in_cuts(t, x, {0, n / 2 + 1});
    Own<dl4_blob> bytes;
    ok(dl4_stream_save_bytes(t, bytes.out()));
    ok(dl4_stream_load_bytes(next, dl4_blob_data(bytes), dl4_blob_size(bytes)));
    const auto rest = in_cuts(next, x, {n / 2 + 1, n});
    EXPECT_EQ(rest, in_cuts(t, x, {n / 2 + 1, n}));
    ok(dl4_stream_reset(t));
    EXPECT_EQ(in_cuts(t, x, {0, 5, n}), whole);
  }
}

}  // namespace dl4_test
