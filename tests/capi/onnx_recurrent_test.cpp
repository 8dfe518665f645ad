// Recurrent layers as ONNX's GRU and RNN: written, and read again.
#include "harness/folder.hpp"
#include "use.hpp"

namespace {

using namespace dl4_test;

struct OnnxRecurrence : Folder {
  // Writes a model of one layer.
  void write(const char *kind, const std::string &config, Own<dl4_model> &m) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {-1, -1, 5}), y = add(g, kind, "layer", config, x);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
  }
  static std::vector<float> run(const dl4_model *m) {
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    const Own<dl4_tensor> given = tensor({2, 4, 5}, numbers(40));
    dl4_tensor *from = given, *to = nullptr;
    ok(dl4_session_run(s, &from, 1, &to, 1, nullptr));
    std::vector<float> y = floats(to);
    dl4_release(to);
    return y;
  }
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

// What those ops do not say is a Scan, which is not read.
TEST_F(OnnxRecurrence, OfOtherEquationsIsAScan) {
  const std::pair<const char *, const char *> layers[] = {{"GRU", R"({"units": 2, "reset_after": false})"},
                                                          {"GRU", R"({"units": 2, "activation": "relu"})"},
                                                          {"SimpleRNN", R"({"units": 2, "activation": "gelu"})"}};
  for (const auto &[kind, config] : layers) {
    Own<dl4_model> m, again;
    write(kind, config, m);
    const Refusal r = refusal(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED);
    EXPECT_NE(r.message.find("(Scan): is not supported"), std::string::npos) << r.message;
  }
}

}  // namespace
