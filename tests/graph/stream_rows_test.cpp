// Nets of few channels, whose layers a stream joins into one kernel for many steps at once: the same bits in all cuts,
// and without that pass.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

// Convolutions, gated or not, with residuals, sums of all layers and a head, as a WaveNet has.
Model wavenet(int64_t channels, const std::string &activation, bool gated) {
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 1});
  const auto dense = [&](Node of) { return g.add("Dense", "", {{"units", channels}}, {of}); };
  const auto conv = [&](Node of, int64_t filters, int taps, int dilation, const std::string &f) {
    return g.add("Conv1D", "",
                 {{"filters", filters},
                  {"padding", "causal"},
                  {"kernel_size", taps},
                  {"dilation_rate", dilation},
                  {"activation", f}},
                 {of});
  };
  Node h = dense(x), head = no_node;
  for (const auto &[taps, dilation] : {std::pair{3, 1}, {6, 3}, {2, 41}, {5, 9}, {1, 1}}) {
    const Node sum = g.add("Add", "{}", {conv(h, channels, taps, dilation, "linear"), dense(x)});
    Node y = g.add("Activation", "", {{"activation", activation}}, {sum});
    if (gated) y = g.add("Multiply", "{}", {y, conv(h, channels, taps, dilation, "sigmoid")});
    head = head == no_node ? y : g.add("Add", "{}", {head, y});
    h = g.add("Add", "{}", {h, dense(y)});
  }
  return g.model({x}, {g.add("Concatenate", "{}", {conv(head, 1, 4, 1, "linear"), h})});
}

bool joins(const runtime::Ticks &ticks) {
  for (const auto &e : ticks.together)
    if (e->describe().find("joined_rows") != std::string::npos) return true;
  return false;
}

TEST(StreamRows, JoinedLayersHaveTheBitsOfEachAlone) {
  const Tensor x = random_tensor({1, 331, 1}, 4), rows = random_tensor({3, 200, 1}, 5);
  runtime::Options apart = options();
  apart.plan.passes_off = {"join_rows"};
  for (const int64_t channels : {1, 2, 3, 4, 5, 8, 13, 16, 17})
    for (const auto &[activation, gated] :
         {std::pair{"tanh", true}, {"tanh", false}, {"relu", false}, {"leaky_relu", false}}) {
      SCOPED_TRACE(text(channels, " channels, ", activation));
      const Model m = wavenet(channels, activation, gated);
      const runtime::Ticks ticks = streamed(m), singly = streamed(m, {}, apart);
      const auto whole = in_cuts(ticks, x, {0, 331});
      for (const int64_t each : {1, 7, 16, 32, 33, 64, 120, 160})
        EXPECT_EQ(in_cuts(ticks, x, cuts_of(331, each)), whole) << each;
      for (const std::ptrdiff_t n : {16, 32, 48, 64, 80}) {
        const auto row = std::ssize(whole) / 331;
        EXPECT_EQ(in_cuts(ticks, x, {0, n}), std::vector(whole.begin(), whole.begin() + n * row)) << n;
      }
      EXPECT_EQ(joins(ticks), channels <= 16);
      EXPECT_EQ(ticks.how->together[0].ticks, channels <= 15 ? 64 : 32);
      EXPECT_EQ(in_cuts(ticks, rows, cuts_of(200, 100)), in_cuts(ticks, rows, cuts_of(200, 1)));
      EXPECT_EQ(in_cuts(singly, x, cuts_of(331, 64)), whole);
      EXPECT_FALSE(joins(singly));
    }
}

// States go from streams that join to those that do not, and back.
TEST(StreamRows, GoesOnFromOthersStates) { expect_streams(wavenet(3, "tanh", true), {1}, {.least = 300}); }

// What is not finite stays in the stream that it came to, and where the net takes it.
TEST(StreamRows, NaNStaysWhereItIs) {
  const runtime::Ticks ticks = streamed(wavenet(3, "relu", false));
  const Tensor x = random_tensor({1, 300, 1}, 4);
  x.as<float>()[40] = std::nanf("");
  const auto in_one = in_cuts(ticks, x, {0, 300}), singly = in_cuts(ticks, x, cuts_of(300, 1));
  ASSERT_EQ(in_one.size(), singly.size());
  for (size_t i = 0; i < in_one.size(); ++i) {
    EXPECT_EQ(std::isnan(in_one[i]), std::isnan(singly[i])) << i;
    if (!std::isnan(singly[i])) {
      EXPECT_EQ(in_one[i], singly[i]) << i;
    }
    if (i < 4 * 40) {
      EXPECT_FALSE(std::isnan(in_one[i])) << i;
    }
  }
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
