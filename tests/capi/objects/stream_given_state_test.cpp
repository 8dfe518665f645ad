// Streams of layers that are given an initial_state: it is that of the first step.
#include "capi/streams.hpp"

namespace {

using namespace dl4_test;

Own<dl4_tensor> noise(const std::vector<int64_t> &dims, float by) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = by * (static_cast<float>(i * 7 % 11) / 5 - 1);
  return tensor(dims, values);
}

struct Net {
  const char *kind;
  int64_t states;
  bool is_late;  // behind a convolution that looks ahead
};

Own<dl4_model> model_of(const Net &net) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  std::vector<dl4_node> in{input(g, "x", {-1, -1, 3})};
  for (int64_t i = 0; i < net.states; ++i) in.push_back(input(g, i ? "c" : "h", {-1, 4}));
  const dl4_node x = net.is_late ? add(g, "Conv1D", nullptr, R"({"filters": 3, "kernel_size": 4})", in[0]) : in[0];
  dl4_node y = -1;
  ok(dl4_graph_add(g, net.kind, nullptr, R"({"units": 4, "return_sequences": true})", nullptr,
                   refs("initial_state", std::vector(in.begin() + 1, in.end())), &x, 1, &y, 1));
  ok(dl4_graph_build(g, in.data(), static_cast<int64_t>(in.size()), &y, 1, m.out()));
  return m;
}

class StreamGivenState : public testing::TestWithParam<Net> {
 protected:
  static constexpr int64_t batch = 2, n = 90;
  const Net net = GetParam();
  const Own<dl4_model> m = model_of(net);

  // x and states that are `by` times some numbers.
  struct Inputs {
    std::vector<Own<dl4_tensor>> states;
    std::vector<dl4_tensor *> all;
    int64_t count() const { return static_cast<int64_t>(all.size()); }
  };
  Inputs with_states(dl4_tensor *x, float by) {
    Inputs in{{}, {x}};
    for (int64_t i = 0; i < net.states; ++i) {
      in.states.push_back(noise({batch, 4}, by));
      in.all.push_back(in.states.back());
    }
    return in;
  }
  // Steps [from, to).
  std::vector<float> run(dl4_stream *s, int64_t from, int64_t to, float by) {
    auto x = noise({batch, n, 3}, 1), part_of_x = part(x, from, to);
    const Inputs in = with_states(part_of_x, by);
    dl4_tensor *out = nullptr;
    ok(dl4_stream_run(s, in.all.data(), in.count(), &out, 1, nullptr));
    return floats(Own<dl4_tensor>(out));
  }
  // In chunks, each after the first one with other states.
  std::vector<float> run_in(dl4_stream *s, int64_t each, float by) {
    std::vector<std::vector<float>> rows(batch);
    for (int64_t from = 0; from < n; from += each) {
      const auto y = run(s, from, std::min(n, from + each), from == 0 ? by : 9);
      const auto row = static_cast<ptrdiff_t>(y.size() / batch);
      for (ptrdiff_t b = 0; b < batch; ++b)
        rows[static_cast<size_t>(b)].insert(rows[static_cast<size_t>(b)].end(), y.begin() + b * row,
                                            y.begin() + (b + 1) * row);
    }
    std::vector<float> all;
    for (const auto &row : rows) all.insert(all.end(), row.begin(), row.end());
    return all;
  }
  std::vector<float> whole(float by) {
    auto s = session(m, "{}");
    auto x = noise({batch, n, 3}, 1);
    const Inputs in = with_states(x, by);
    dl4_tensor *out = nullptr;
    ok(dl4_session_run(s, in.all.data(), in.count(), &out, 1, nullptr));
    return floats(Own<dl4_tensor>(out));
  }
};

TEST_P(StreamGivenState, BeginsWithItAndGoesOn) {
  auto s = session(m);
  auto one = stream(s, batch);
  const auto expected = run_in(one, n, 1);
  expect_near(expected, whole(1));
  for (int64_t each : {1, 7, 40}) {
    if (net.is_late && each == 1) continue;  // its first step comes with the fourth call, of other states
    EXPECT_EQ(run_in(stream(s, batch), each, 1), expected) << each;
  }
}

TEST_P(StreamGivenState, AResetBeginsWithThatOfTheNextCall) {
  auto s = session(m);
  auto one = stream(s, batch);
  run_in(one, 7, 1);
  ok(dl4_stream_reset(one));
  const auto other = run_in(one, 7, -2);
  EXPECT_EQ(other, run_in(stream(s, batch), n, -2));
  EXPECT_NE(other, run_in(stream(s, batch), n, 1));
}

INSTANTIATE_TEST_SUITE_P(Of, StreamGivenState,
                         testing::Values(Net{"GRU", 1, false}, Net{"GRU", 1, true}, Net{"LSTM", 2, false},
                                         Net{"LSTM", 2, true}, Net{"SimpleRNN", 1, false}));

}  // namespace
