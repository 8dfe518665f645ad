// Nets of few channels, whose layers a stream joins into one kernel for many steps at once: the same bits in all cuts,
// and without that pass.
#include <random>

#include "capi/net.hpp"
#include "capi/streams.hpp"

namespace {

using namespace dl4_test;

dl4_node joined(dl4_graph *g, const char *kind, std::vector<dl4_node> in, const char *json = "{}") {
  dl4_node y = -1;
  ok(dl4_graph_add(g, kind, nullptr, json, nullptr, nullptr, in.data(), static_cast<int64_t>(in.size()), &y, 1));
  return y;
}

// Convolutions, gated or not, with residuals, sums of all layers and a head, as a WaveNet has.
Own<dl4_model> wavenet(dl4_context *context, int64_t channels, const std::string &activation, bool gated) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(context, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, 1});
  const std::string width = std::to_string(channels);
  const auto dense = [&](dl4_node of) { return add(g, "Dense", nullptr, R"({"units": )" + width + "}", of); };
  const auto conv = [&](dl4_node of, const std::string &filters, int taps, int dilation, const std::string &f) {
    return add(g, "Conv1D", nullptr,
               R"({"filters": )" + filters + R"(, "padding": "causal", "kernel_size": )" + std::to_string(taps) +
                   R"(, "dilation_rate": )" + std::to_string(dilation) + R"(, "activation": ")" + f + "\"}",
               of);
  };
  dl4_node h = dense(x), head = -1;
  for (const auto &[taps, dilation] : {std::pair{3, 1}, {6, 3}, {2, 41}, {5, 9}, {1, 1}}) {
    const dl4_node sum = joined(g, "Add", {conv(h, width, taps, dilation, "linear"), dense(x)});
    dl4_node y = add(g, "Activation", nullptr, R"({"activation": ")" + activation + "\"}", sum);
    if (gated) y = joined(g, "Multiply", {y, conv(h, width, taps, dilation, "sigmoid")});
    head = head < 0 ? y : joined(g, "Add", {head, y});
    h = joined(g, "Add", {h, dense(y)});
  }
  const dl4_node outputs[] = {conv(head, "1", 4, 1, "linear"), h};
  const dl4_node all = joined(g, "Concatenate", {outputs[0], outputs[1]});
  ok(dl4_graph_build(g, &x, 1, &all, 1, m.out()));
  return m;
}

std::vector<float> chunks(dl4_session *s, int64_t batch, dl4_tensor *x, int64_t each) {
  return in_cuts(stream(s, batch), x, cuts_of(dl4_tensor_dims(x)[1], each));
}

TEST(StreamRows, JoinedLayersHaveTheBitsOfEachAlone) {
  Own<dl4_context> apart;
  ok(dl4_context_create(R"({"passes_off": ["join_rows"], "seed": 3})", apart.out()));
  for (const int64_t channels : {1, 2, 3, 4, 5, 8, 13, 16, 17})
    for (const auto &[activation, gated] :
         {std::pair{"tanh", true}, {"tanh", false}, {"relu", false}, {"leaky_relu", false}}) {
      SCOPED_TRACE(testing::Message() << channels << " channels, " << activation);
      auto m = wavenet(nullptr, channels, activation, gated);
      auto s = session(m, R"({"streamable": true})");
      auto x = random_tensor({1, 331, 1}, 4);
      int64_t steps = 0;
      const auto whole = run_whole(s, x, &steps);
      for (const int64_t each : {1, 7, 16, 32, 33, 64, 120, 160, 331}) EXPECT_EQ(chunks(s, 1, x, each), whole) << each;
      for (const int64_t n : {16, 32, 48, 64, 80})
        EXPECT_EQ(run_whole(s, part(x, 0, n), &steps), first_steps(whole, 1, 331, n));
      const std::string about = described(s, DL4_FORMAT_JSON);
      EXPECT_EQ(about.find("joined_rows") != std::string::npos, channels <= 16);
      EXPECT_EQ(nlohmann::json::parse(about).at("stream").at("steps_at_once"), channels <= 15 ? 64 : 32);
      auto rows = random_tensor({3, 200, 1}, 5);
      EXPECT_EQ(chunks(s, 3, rows, 100), chunks(s, 3, rows, 1));

      auto same = wavenet(apart, channels, activation, gated);
      for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
        const char *name = dl4_port_name(m, DL4_WEIGHTS, i);
        Own<dl4_tensor> w;
        ok(dl4_model_get_weight(m, name, w.out()));
        ok(dl4_model_set_weight(same, dl4_port_name(same, DL4_WEIGHTS, i), w));
      }
      auto t = session(same, R"({"streamable": true})");
      EXPECT_EQ(chunks(t, 1, x, 64), whole);
      EXPECT_EQ(described(t, DL4_FORMAT_JSON).find("joined_rows"), std::string::npos);
    }
}

// States go from streams that join to those that do not, and back.
TEST(StreamRows, GoesOnFromItsBytes) {
  auto m = wavenet(nullptr, 3, "tanh", true);
  auto s = session(m, R"({"streamable": true})");
  auto x = random_tensor({1, 300, 1}, 4);
  const auto whole = chunks(s, 1, x, 300);
  auto a = stream(s), b = stream(s);
  const auto first = in_cuts(a, x, {0, 100});
  Own<dl4_blob> bytes;
  ok(dl4_stream_save_bytes(a, bytes.out()));
  ok(dl4_stream_load_bytes(b, dl4_blob_data(bytes), dl4_blob_size(bytes)));
  auto rest = in_cuts(b, x, {100, 101, 110, 300});
  rest.insert(rest.begin(), first.begin(), first.end());
  EXPECT_EQ(rest, whole);
}

// What is not finite stays in the stream that it came to, and where the net takes it.
TEST(StreamRows, NaNStaysWhereItIs) {
  auto m = wavenet(nullptr, 3, "relu", false);
  auto s = session(m, R"({"streamable": true})");
  auto x = random_tensor({1, 300, 1}, 4);
  static_cast<float *>(dl4_tensor_data(x))[40] = std::nanf("");
  const auto in_one = chunks(s, 1, x, 300), singly = chunks(s, 1, x, 1);
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
