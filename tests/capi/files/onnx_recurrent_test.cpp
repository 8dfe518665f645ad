// Recurrent layers as ONNX's GRU and RNN: written, and read again.
#include "capi/use.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

struct OnnxRecurrence : Folder {
  // Writes a model of one layer.
  void write(const char *kind, const std::string &config, Own<dl4_model> &m) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {-1, -1, 5}), y = add(g, kind, "layer", config, x);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
  }
  static std::vector<float> run(const dl4_model *m) { return dl4_test::run(m, {tensor({2, 4, 5}, numbers(40))})[0]; }
};

TEST_F(OnnxRecurrence, IsReadAgain) {
  const std::string with_bias = R"({"units": 3, "bias_initializer": "RandomNormal")";
  const std::pair<const char *, std::string> layers[] = {
      {"GRU", with_bias + "}"},
      {"GRU", with_bias + R"(, "return_sequences": true})"},
      {"GRU", with_bias + R"(, "return_sequences": true, "go_backwards": true})"},
      {"GRU", R"({"units": 2, "use_bias": false})"},
      {"Bidirectional", R"({"layer": {"class_name": "GRU", "config": {"units": 3, "return_sequences": true}}})"},
      {"RNN", R"({"cell": {"class_name": "GRUCell", "config": {"units": 3}}, "return_sequences": true})"},
      {"SimpleRNN", with_bias + "}"},
      {"SimpleRNN", with_bias + R"(, "activation": "relu", "return_sequences": true})"},
      {"SimpleRNN", R"({"units": 2, "use_bias": false, "activation": "linear", "go_backwards": true})"},
      {"SimpleRNN", R"({"units": 2, "activation": "softsign"})"},
  };
  for (const auto &[kind, config] : layers) {
    Own<dl4_model> m, again;
    write(kind, config, m);
    ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
    const std::vector<float> y = run(m), z = run(again);
    ASSERT_EQ(y.size(), z.size()) << kind << config;
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-6) << kind << config;
  }
}

// What those ops do not say is a Scan.
TEST_F(OnnxRecurrence, OfOtherEquationsIsAScanThatIsReadAgain) {
  const std::string cells = R"({"class_name": "StackedRNNCells", "config": {"cells": [
      {"class_name": "GRUCell", "config": {"units": 2}}, {"class_name": "LSTMCell", "config": {"units": 3}}]}})";
  const std::pair<const char *, std::string> layers[] = {
      {"GRU", R"({"units": 2, "reset_after": false})"},
      {"GRU", R"({"units": 2, "reset_after": false, "return_sequences": true, "go_backwards": true})"},
      {"GRU", R"({"units": 2, "activation": "relu", "return_sequences": true})"},
      {"LSTM", R"({"units": 2, "activation": "gelu", "return_sequences": true})"},
      {"SimpleRNN", R"({"units": 2, "activation": "gelu"})"},
      {"RNN", R"({"return_sequences": true, "cell": )" + cells + "}"},
      {"Bidirectional", R"({"layer": {"class_name": "GRU", "config": {"units": 3, "reset_after": false}}})"},
  };
  for (const auto &[kind, config] : layers) {
    Own<dl4_model> m, again;
    write(kind, config, m);
    ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
    const std::vector<float> y = run(m), z = run(again);
    ASSERT_EQ(y.size(), z.size()) << kind << config;
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-6) << kind << config;
    ok(dl4_model_save(again, path("b.safetensors").c_str(), nullptr));  // and as a file of ours
    Own<dl4_model> own;
    ok(dl4_model_load(nullptr, path("b.safetensors").c_str(), nullptr, own.out()));
    EXPECT_EQ(run(own), z) << kind << config;
  }
}

TEST_F(OnnxRecurrence, OverMaskedStepsIsReadAgain) {
  const std::pair<const char *, const char *> layers[] = {
      {"GRU", R"({"units": 2, "return_sequences": true})"},
      {"GRU", R"({"units": 2, "reset_after": false, "go_backwards": true})"},
      {"LSTM", R"({"units": 2, "return_sequences": true})"},
      {"LSTM", R"({"units": 2, "use_bias": false, "return_sequences": true, "go_backwards": true})"},
      {"LSTM", R"({"units": 3, "bias_initializer": "RandomNormal"})"},
      {"SimpleRNN", R"({"units": 3})"}};
  for (const auto &[kind, config] : layers) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {-1, -1, 1}), seen = add(g, "Masking", nullptr, R"({"mask_value": 5})", x);
    const dl4_node y = add(g, kind, "layer", config, seen);
    Own<dl4_model> m, again;
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
    ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
    std::vector<float> all[2];
    for (size_t i = 0; i < 2; ++i) {
      Own<dl4_session> s;
      ok(dl4_session_create(i == 0 ? m : again, nullptr, s.out()));
      const Own<dl4_tensor> given = tensor({2, 4, 1}, {5, 1, 2, 5, 3, 5, 5, -1});
      dl4_tensor *from = given;
      Own<dl4_tensor> to;
      ok(dl4_session_run(s, &from, 1, to.out(), 1, nullptr));
      all[i] = floats(to);
    }
    ASSERT_EQ(all[0].size(), all[1].size()) << kind << config;
    for (size_t i = 0; i < all[0].size(); ++i) EXPECT_NEAR(all[0][i], all[1][i], 1e-6) << kind << config;
  }
}

// Until a step is seen an LSTM gives zeros, and keeps the state that it was given.
TEST_F(OnnxRecurrence, OfAMaskedLstmFromGivenStatesIsReadAgain) {
  Own<dl4_graph> g;
  Own<dl4_model> m, again;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node in[2] = {input(g, "x", {2, 4, 1}), input(g, "h", {2, 2})};
  const dl4_node seen = add(g, "Masking", nullptr, R"({"mask_value": 5})", in[0]);
  dl4_node out[3];
  dl4_node mask;
  ok(dl4_graph_add_mask(g, seen, &mask));  // as in Keras, one that is not named does not come with given states
  const auto call = refs("initial_state", {in[1], in[1]});
  ok(dl4_refs_set_nodes(call, "mask", &mask, 1));
  ok(dl4_graph_add(g, "LSTM", "layer", R"({"units": 2, "return_sequences": true, "return_state": true})", nullptr, call,
                   &seen, 1, out, 3));
  ok(dl4_graph_build(g, in, 2, out, 3, m.out()));
  ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
  ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
  const auto run_all = [](const dl4_model *model) {
    Own<dl4_session> s;
    ok(dl4_session_create(model, nullptr, s.out()));
    const auto x = tensor({2, 4, 1}, {5, 1, 2, 5, 5, 5, 5, 5}), h = tensor({2, 2}, {0.5, -1, 2, 0.25});
    dl4_tensor *from[2] = {x, h}, *to[3] = {};
    ok(dl4_session_run(s, from, 2, to, 3, nullptr));
    std::vector<float> all;
    for (dl4_tensor *t : to) {
      const Own<dl4_tensor> owned(t);
      for (float v : floats(owned)) all.push_back(v);
    }
    return all;
  };
  const std::vector<float> y = run_all(m), z = run_all(again);
  ASSERT_EQ(y.size(), 24u);
  ASSERT_EQ(z.size(), y.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-6) << i;
  for (size_t i = 8; i < 16; ++i) EXPECT_EQ(z[i], 0) << i;  // nothing is seen
  EXPECT_EQ(std::vector<float>(z.begin() + 18, z.begin() + 20), (std::vector<float>{2, 0.25}));
}

// What a stateful layer keeps is no weight: a file begins with zeros, as does one of any other format.
TEST_F(OnnxRecurrence, OfAStatefulLayerBeginsWithZeros) {
  for (const char *kind : {"LSTM", "GRU", "SimpleRNN"}) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {2, 3, 5}), y = add(g, kind, "layer", R"({"units": 2, "stateful": true})", x);
    Own<dl4_model> m, again;
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    const auto fresh = dl4_test::run(m, {tensor({2, 3, 5}, numbers(30))})[0];
    {
      auto t = trainer(m, R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.0}},
                              "loss": "MeanSquaredError"})");
      auto d = dataset(tensor({2, 3, 5}, numbers(30)), tensor({2, 2}, numbers(4)), R"({"batch_size": 2})");
      ok(dl4_trainer_fit(t, d, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
    }
    EXPECT_NE(dl4_test::run(m, {tensor({2, 3, 5}, numbers(30))})[0], fresh) << kind;  // it has a state now
    ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
    ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
    const auto got = dl4_test::run(again, {tensor({2, 3, 5}, numbers(30))})[0];
    ASSERT_EQ(got.size(), fresh.size()) << kind;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], fresh[i], 1e-6) << kind;
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
