// Streams of layers that are given an initial_state: it is that of the first step.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

struct Given {
  const char *kind;
  size_t states;
  bool is_late;  // behind a convolution that looks ahead
};

class StreamGivenState : public testing::TestWithParam<Given> {
 protected:
  static constexpr int64_t n = 90;
  StreamGivenState() {
    std::vector<Node> in{net_.input("x", {free_dim, free_dim, 3})};
    for (size_t i = 0; i < given_.states; ++i) in.push_back(net_.input(i ? "c" : "h", {free_dim, 4}));
    const Node x = given_.is_late ? net_.add("Conv1D", R"({"filters": 3, "kernel_size": 4})", {in[0]}) : in[0];
    const Arguments states{Json::object(), {{"initial_state", {in.begin() + 1, in.end()}}}};
    const Json config{{"units", 4}, {"return_sequences", true}};
    model_.emplace(net_.model(in, {net_.add(given_.kind, "", config, {x}, states)}));
    ticks_ = streamed(*model_);
  }
  // States that are `by` times some numbers.
  std::vector<Tensor> states(float by) const {
    std::vector<Tensor> all;
    for (size_t i = 0; i < given_.states; ++i) {
      all.push_back(random_tensor({2, 4}, 2));
      for (int j = 0; j < 8; ++j) all.back().as<float>()[j] *= by;
    }
    return all;
  }
  // In chunks, each after the first one with other states.
  std::vector<float> run_in(runtime::Stream &s, int64_t each, float by) const {
    std::vector<float> rows[2];
    for (int64_t from = 0; from < n; from += each) {
      const auto y = in_cuts(s, ticks_, x_, {from, std::min(n, from + each)}, states(from == 0 ? by : 9));
      const auto half = y.begin() + static_cast<ptrdiff_t>(y.size() / 2);
      rows[0].insert(rows[0].end(), y.begin(), half), rows[1].insert(rows[1].end(), half, y.end());
    }
    rows[0].insert(rows[0].end(), rows[1].begin(), rows[1].end());
    return rows[0];
  }
  std::vector<float> run_in(int64_t each, float by) const {
    runtime::Stream fresh(ticks_, 2);
    return run_in(fresh, each, by);
  }

  const Given given_ = GetParam();
  Net net_;
  std::optional<Model> model_;
  runtime::Ticks ticks_;
  const Tensor x_ = random_tensor({2, n, 3}, 1);
};

TEST_P(StreamGivenState, BeginsWithItAndGoesOn) {
  const auto expected = run_in(n, 1);
  std::vector<Tensor> in = states(1);
  in.insert(in.begin(), x_);
  expect_close(expected, floats(run(*model_, in)[0]));
  for (int64_t each : {1, 7, 40}) {
    if (given_.is_late && each == 1) continue;  // its first step comes with the fourth call, of other states
    EXPECT_EQ(run_in(each, 1), expected) << each;
  }
}

TEST_P(StreamGivenState, AResetBeginsWithThatOfTheNextCall) {
  runtime::Stream one(ticks_, 2);
  run_in(one, 7, 1);
  one.reset();
  const auto other = run_in(one, 7, -2);
  EXPECT_EQ(other, run_in(n, -2));
  EXPECT_NE(other, run_in(n, 1));
}

INSTANTIATE_TEST_SUITE_P(Of, StreamGivenState,
                         testing::Values(Given{"GRU", 1, false}, Given{"GRU", 1, true}, Given{"LSTM", 2, false},
                                         Given{"LSTM", 2, true}, Given{"SimpleRNN", 1, false}));

}  // namespace
}  // namespace dl4::graph::DL4_FILE
