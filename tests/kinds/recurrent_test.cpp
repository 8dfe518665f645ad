// GRU, SimpleRNN and the LSTM that runs as a scan: refusals, dropout, agreement with the LSTM's own kernels.
#include <cmath>

#include "kinds/layer_call.hpp"
#include "ops/scan.hpp"

namespace dl4::test::DL4_FILE {
namespace {

const char *const all[] = {"GRU", "SimpleRNN", "LSTM"};

TEST(Recurrent, Refusals) {
  for (const char *kind : all) {
    SCOPED_TRACE(kind);
    expect_config_refusal(kind, {{"units", 0}}, Code::invalid_argument, "\"units\": expected at least 1");
    expect_call_refusal(kind, {{"units", 2}, {"stateful", true}}, {{free_dim, 4, 3}},
                        "\"stateful\": expected a known batch size, got shape (?, 4, 3) of input 0",
                        Code::invalid_argument);
    expect_config_refusal(kind, {{"units", 2}, {"recurrent_dropout", 1.5}}, Code::invalid_argument,
                          "\"recurrent_dropout\": expected at most 1");
    expect_call_refusal(kind, {{"units", 2}}, {{2, 3}}, "expected ndim=3, found ndim=2");
    expect_call_refusal(kind, {{"units", 2}}, {{2, 3, free_dim}}, "should be known");
    LayerCall l(kind, {{"units", 2}});
    Symbol x = l.input({free_dim, 3, 4});
    const size_t states = std::string(kind) == "LSTM" ? 2 : 1;
    auto call_with = [&](size_t n, Symbol s) {
      Arguments a;
      a.symbols["initial_state"] = std::vector<Symbol>(n, s);
      l.call({x}, a);
    };
    expect_refusal(Code::invalid_argument, text(", got ", states + 1), [&] {
      call_with(states + 1, l.input({free_dim, 2}));
    });
    expect_refusal(Code::invalid_argument, ", got null", [&] { call_with(states, Symbol{}); });
    expect_refusal(Code::shape_mismatch, "\"initial_state\": expected shape (?, 2), got (?, 3)", [&] {
      call_with(states, l.input({free_dim, 3}));
    });
    expect_refusal(Code::invalid_argument, "\"initial_state\": expected dtype=float32, found dtype=int32", [&] {
      call_with(states, l.input({free_dim, 2}, DType::i32));
    });
    Arguments a;
    a.symbols["mask"] = {l.input({free_dim}, DType::boolean)};
    expect_refusal(Code::shape_mismatch, "\"mask\": expected shape (batch, time), got (?,)", [&] { l.call({x}, a); });
  }
}

// The scan and the kernels for whole sequences are told apart by an option that changes nothing.
TEST(Recurrent, AnLstmByScanEqualsItsKernels) {
  for (bool back : {false, true})
    for (bool sequences : {false, true}) {
      auto run = [&](const Json &more) {
        Json config{{"units", 3}, {"return_state", true}, {"go_backwards", back}, {"return_sequences", sequences}};
        for (const auto &[key, value] : more.items()) config[key] = value;
        LayerCall l("LSTM", config);
        auto y = l.call({l.masked({2, 4, 3})});
        bool scans = false;
        for (const ops::Step &s : l.program.steps) scans |= s.op->name() == "scan";
        EXPECT_EQ(scans, more.size() > 0);
        return l.run(y, {random({2, 4, 3}, 1), tensor<bool>({2, 4}, {1, 0, 1, 1, 0, 1, 1, 0})});
      };
      auto own = run(Json::object()), scanned = run({{"recurrent_dropout", 0.5}});
      for (size_t i = 0; i < own.size(); ++i) expect_close(scanned[i], own[i], 1e-5, text("output ", i));
    }
}

// One draw for all steps, apart for inputs and states, and for each gate where Keras has them apart.
TEST(Recurrent, DropoutIsTheSameAtEveryStep) {
  auto drawn = [](const char *kind, const Json &more, bool training = true) {
    Json config{{"units", 2}};
    for (const auto &[key, value] : more.items()) config[key] = value;
    LayerCall l(kind, config);
    l.call({l.input({5, 3, 4})}, {}, training);
    std::string shapes;
    for (const ops::Step &s : l.program.steps) {
      if (s.op->name() == "random_keep") shapes += to_string(l.program[s.dst[0]].shape);
      auto *scan = ops::as<ops::ScanOp>(s);
      for (size_t i = 0; scan && i < scan->body->steps.size(); ++i)
        EXPECT_NE(scan->body->steps[i].op->name(), "random_keep");
    }
    return shapes;
  };
  EXPECT_EQ(drawn("GRU", {{"dropout", 0.5}}), "(5, 4)");
  EXPECT_EQ(drawn("GRU", {{"dropout", 0.5}}, false), "");
  EXPECT_EQ(drawn("GRU", {{"dropout", 0.5}, {"implementation", 1}}), "(5, 12)");
  EXPECT_EQ(drawn("GRU", {{"dropout", 0.5}, {"recurrent_dropout", 0.25}}), "(5, 12)(5, 6)");
  EXPECT_EQ(drawn("GRU", {{"dropout", 1}, {"recurrent_dropout", 1}}), "");
  EXPECT_EQ(drawn("LSTM", {{"dropout", 0.5}, {"recurrent_dropout", 0.25}}), "(5, 16)(5, 8)");
  EXPECT_EQ(drawn("LSTM", {{"dropout", 0.5}, {"implementation", 1}}), "(5, 16)");
  EXPECT_EQ(drawn("SimpleRNN", {{"dropout", 0.5}, {"recurrent_dropout", 0.25}}), "(5, 4)(5, 2)");
}

// With all of the state dropped but where it is kept for z alone, a step is a function of its input.
TEST(Recurrent, DroppedValues) {
  LayerCall l("SimpleRNN",
              {{"units", 1}, {"recurrent_dropout", 1}, {"return_sequences", true}, {"activation", "linear"}});
  auto y = l.call({l.input({1, 3, 1})}, {}, true);
  EXPECT_EQ(values(l.run(y, {tensor<float>({1, 3, 1}, {1, 2, 3})})[0]), (std::vector<double>{2, 3, 4}));
  for (const char *kind : all) {
    LayerCall two(kind, {{"units", 4}, {"recurrent_dropout", 0.5}, {"dropout", 0.5}});
    auto out = two.call({two.input({3, 5, 4})}, {}, true);
    for (double v : values(two.run(out, {random({3, 5, 4}, 1)})[0])) EXPECT_TRUE(std::isfinite(v)) << kind;
  }
}

TEST(Recurrent, NothingLeaksThroughTheMask) {
  for (const char *kind : {"GRU", "SimpleRNN"}) {
    LayerCall l(kind, {{"units", 2}, {"return_sequences", true}});
    auto y = l.call({l.masked({1, 3, 1})});
    const Tensor mask = tensor<bool>({1, 3}, {true, false, true});
    auto with = [&](float v) { return l.run(y, {tensor<float>({1, 3, 1}, {1, v, 2}), mask}); };
    expect_same_bits(with(NAN), with(0), kind);
    auto got = values(with(0)[0]);
    EXPECT_EQ(got[2], got[0]);
    EXPECT_NE(got[4], got[2]);
  }
}

TEST(Recurrent, NoSteps) {
  for (const char *kind : all) {
    LayerCall l(kind, {{"units", 2}, {"activation", "relu"}, {"return_state", true}});
    auto y = l.call({l.input({free_dim, free_dim, 3})});
    for (const Shape &s : {Shape{2, 0, 3}, Shape{0, 4, 3}})
      for (const Tensor &t : l.run(y, {random(s, 1)}))
        for (double v : values(t)) EXPECT_EQ(v, 0) << kind;
  }
}

Json cell(const char *kind, const Json &config) { return {{"class_name", kind}, {"config", config}}; }

TEST(Recurrent, RefusedCells) {
  expect_config_refusal("RNN", {{"cell", cell("Dense", {{"units", 2}})}}, Code::invalid_argument,
                        "\"cell\": expected a cell, such as GRUCell, got Dense");
  expect_config_refusal("RNN", {{"cell", cell("GRU", {{"units", 2}})}}, Code::invalid_argument, "got GRU");
  expect_config_refusal("RNN", {{"cell", nullptr}}, Code::invalid_argument, "\"cell\": expected a cell");
  expect_config_refusal("StackedRNNCells", {{"cells", Json::array()}}, Code::invalid_argument,
                        "\"cells\": expected at least one cell, got []");
  expect_config_refusal("StackedRNNCells", {{"cells", Json::array({cell("Dense", {{"units", 2}})})}},
                        Code::invalid_argument, "\"cells\": expected a cell, such as GRUCell, got Dense");
  expect_call_refusal("GRUCell", {{"units", 2}}, {{3, 4, 5}}, "expected ndim=2, found ndim=3");
  LayerCall l("LSTMCell", {{"units", 2}});
  Symbol x = l.input({3, 4});
  Arguments a;
  a.symbols["states"] = {l.input({3, 2})};
  expect_refusal(Code::invalid_argument, "\"states\": expected 2 tensors, got 1", [&] { l.call({x}, a); });
  expect_call_refusal("RNN", {{"cell", cell("GRUCell", {{"units", 2}})}}, {{3, 4, 5, 6}},
                      "inner layer \"gru_cell\": input 0 is incompatible with the layer: expected ndim=2");
  expect_call_refusal("RNN", {{"cell", cell("GRUCell", {{"units", 2}})}}, {{3, 4}}, "expected min_ndim=3");
}

// Those of the cells of a stack stand one behind the other.
TEST(Recurrent, RefusedStatesOfAStack) {
  const Json cells = Json::array({cell("GRUCell", {{"units", 3}}), cell("LSTMCell", {{"units", 2}})});
  LayerCall l("RNN", {{"cell", cell("StackedRNNCells", {{"cells", cells}})}});
  const Symbol x = l.input({4, 5, 6}), three = l.input({4, 3}), two = l.input({4, 2});
  auto refused = [&](Code code, const std::string &words, const std::vector<Symbol> &states) {
    Arguments a;
    a.symbols["initial_state"] = states;
    expect_refusal(code, words, [&] { l.call({x}, a); });
  };
  refused(Code::invalid_argument, "\"initial_state\": expected 3 tensors, got 2", {three, two});
  refused(Code::shape_mismatch, "\"initial_state\": expected shape (4, 2), got (4, 3)", {three, two, three});
  refused(Code::invalid_argument, "\"initial_state\": expected dtype=float32, found dtype=int32",
          {three, two, l.input({4, 2}, DType::i32)});
}

// RNN over a cell computes what the layer of that cell does; its dropout is one draw for all steps too.
TEST(Recurrent, RnnEqualsTheLayerOfItsCell) {
  for (auto [layer, of] : {std::pair{"GRU", "GRUCell"}, {"LSTM", "LSTMCell"}, {"SimpleRNN", "SimpleRNNCell"}}) {
    const Json one{{"units", 3}};
    auto run = [](const char *kind, const Json &config) {
      LayerCall l(kind, config);
      return l.run(l.call({l.masked({2, 4, 3})}),
                   {random({2, 4, 3}, 1), tensor<bool>({2, 4}, {1, 0, 1, 1, 0, 1, 1, 0})});
    };
    expect_close(run("RNN", {{"cell", cell(of, one)}})[0], run(layer, one)[0], 1e-5, layer);
  }
  LayerCall l("RNN", {{"cell", cell("SimpleRNNCell", {{"units", 1}, {"dropout", 0.5}, {"name", "c"}})},
                      {"return_sequences", true}});
  auto y = l.call({l.input({1, 6, 8})}, {}, true);
  EXPECT_TRUE(l.weights.count("c/kernel"));
  // Ones in: as long as tanh is not flat, every step adds the same number to a growing state, or none at all.
  const Tensor ones = naive({1, 6, 8}, [](const auto &) { return 1e-3; });
  auto got = values(l.run(y, {ones})[0]);
  EXPECT_GT(got[0], 0);
  for (size_t t = 2; t < 6; ++t) EXPECT_NEAR(std::atanh(got[t]) - got[t - 1], std::atanh(got[1]) - got[0], 1e-5);
}

TEST(ConvLstm, Refusals) {
  const Json two{{"filters", 2}, {"kernel_size", 3}};
  auto with = [&](const char *key, const Json &value) {
    Json config = two;
    config[key] = value;
    return config;
  };
  for (const char *kind : {"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}) {
    SCOPED_TRACE(kind);
    expect_config_refusal(kind, with("padding", "causal"), Code::invalid_argument, "\"padding\"");
    expect_config_refusal(kind, with("bias_initializer", nullptr), Code::invalid_argument, "\"bias_initializer\"");
    Json both = with("strides", 2);
    both["dilation_rate"] = 2;
    expect_config_refusal(kind, both, Code::invalid_argument, "strides > 1 are not supported together");
  }
  expect_call_refusal("ConvLSTM1D", two, {{2, 3, 4}}, "expected ndim=4, found ndim=3");
  expect_call_refusal("ConvLSTM2D", two, {{2, 3, 4, 5}}, "expected ndim=5, found ndim=4");
  expect_call_refusal("ConvLSTM1D", two, {{2, 3, free_dim, 4}}, "all dimensions of a step of input 0 should be known");
  expect_call_refusal("ConvLSTM3D", two, {{2, 3, 4, 5, 6}}, "expected ndim=6, found ndim=5");
  LayerCall l("ConvLSTM2D", with("data_format", "channels_first"));
  Arguments a;
  a.symbols["initial_state"] = {l.input({2, 4, 5, 2}), l.input({2, 4, 5, 2})};
  expect_refusal(Code::shape_mismatch, "\"initial_state\": expected shape (2, 2, 4, 5), got (2, 4, 5, 2)", [&] {
    l.call({l.input({2, 3, 3, 6, 7})}, a);
  });
}

// Masks are drawn for the products, which see channels last.
TEST(ConvLstm, DropoutWithChannelsFirst) {
  LayerCall l("ConvLSTM2D", {{"filters", 2},
                             {"kernel_size", 2},
                             {"dropout", 0.5},
                             {"recurrent_dropout", 0.5},
                             {"data_format", "channels_first"}});
  auto y = l.call({l.input({3, 4, 1, 5, 6})}, {}, true);
  std::string shapes;
  for (const ops::Step &s : l.program.steps)
    if (s.op->name() == "random_keep") shapes += to_string(l.program[s.dst[0]].shape);
  EXPECT_EQ(shapes, "(3, 5, 6, 4)(3, 4, 5, 8)");
  EXPECT_EQ(l.shape(y[0]), (Shape{3, 2, 4, 5}));
  for (double v : values(l.run(y, {random({3, 4, 1, 5, 6}, 1)})[0])) EXPECT_TRUE(std::isfinite(v));
}

TEST(ConvLstm, DropoutIsTheSameAtEveryStep) {
  LayerCall l("ConvLSTM1D", {{"filters", 2}, {"kernel_size", 2}, {"dropout", 0.5}, {"recurrent_dropout", 0.5}});
  auto y = l.call({l.input({3, 4, 5, 1})}, {}, true);
  std::string shapes;
  for (const ops::Step &s : l.program.steps)
    if (s.op->name() == "random_keep") shapes += to_string(l.program[s.dst[0]].shape);
  EXPECT_EQ(shapes, "(3, 5, 4)(3, 4, 8)");
  for (double v : values(l.run(y, {random({3, 4, 5, 1}, 1)})[0])) EXPECT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
