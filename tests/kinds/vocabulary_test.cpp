// SpectralNormalization, MelSpectrogram, CTC, Muon: configs, refusals, shapes.
#include <cmath>
#include <numbers>

#include "kinds/layer_call.hpp"
#include "kinds/layer_case.hpp"
#include "kinds/loss.hpp"

namespace dl4::test::DL4_FILE {
namespace {

constexpr Code invalid = Code::invalid_argument;

Json kind(const std::string &name, const Json &config = Json::object()) {
  return {{"class_name", name}, {"config", config}};
}

// ---- SpectralNormalization ------------------------------------------------------------------------------------------

TEST(SpectralNormalization, Refusals) {
  const auto refused = [](const Json &config, const std::string &words, Code code = invalid) {
    expect_config_refusal("SpectralNormalization", config, code, words);
  };
  const Json dense = kind("Dense", {{"units", 3}});
  const std::string expected =
      "\"layer\": expected a layer of one input with a weight \"kernel\" or \"embeddings\", got ";
  refused(Json::object(), "attribute \"layer\" is missing");
  refused({{"layer", nullptr}}, expected + "null");
  refused({{"layer", "Flatten"}}, expected + "Flatten");
  refused({{"layer", kind("LSTM", {{"units", 3}})}}, expected + "LSTM");
  refused({{"layer", kind("SeparableConv1D", {{"filters", 3}, {"kernel_size", 2}})}}, expected + "SeparableConv1D");
  refused({{"layer", kind("Bidirectional", {{"layer", kind("GRU", {{"units", 3}})}})}}, expected + "Bidirectional");
  refused({{"layer", dense}, {"power_iterations", 0}}, "\"power_iterations\": expected at least 1, got 0");
  refused({{"layer", dense}, {"power_iterations", 1.5}}, "\"power_iterations\": expected an integer");
  expect_call_refusal("SpectralNormalization", {{"layer", kind("Conv1D", {{"filters", 3}, {"kernel_size", 2}})}},
                      {{2, 3}}, "inner layer \"conv1");
}

TEST(SpectralNormalization, AsksForItsVectorBehindTheKernel) {
  LayerCall l("SpectralNormalization",
              {{"layer", kind("Conv2D", {{"name", "conv"}, {"filters", 5}, {"kernel_size", {2, 3}}})}});
  const auto out = l.call({l.input({1, 4, 4, 3})}, {}, true);
  EXPECT_EQ(l.shape(out[0]), (Shape{1, 3, 2, 5}));
  std::vector<std::string> names;
  for (const auto &spec : l.specs) {
    names.push_back(spec.name);
    EXPECT_EQ(spec.assigned, spec.name != "conv/bias") << spec.name;
    EXPECT_EQ(spec.trainable, spec.name != "vector_u") << spec.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"conv/kernel", "vector_u", "conv/bias"}));
  EXPECT_EQ(l.specs[1].shape, (Shape{1, 5}));
}

TEST(SpectralNormalization, InInferenceIsItsLayer) {
  LayerCall l("SpectralNormalization", {{"layer", kind("Embedding", {{"input_dim", 4}, {"output_dim", 2}})}});
  const auto out = l.call({l.input({2, 3}, DType::i32)});
  EXPECT_EQ(l.e.dtype(out[0].value), DType::i32) << "Keras gives the input's dtype";
  const Id table = l.weights.at("embedding/embeddings");
  for (const auto &step : l.program.steps) EXPECT_NE(step.op->name(), "matmul");
  EXPECT_EQ(l.weights.at("embedding/embeddings"), table);
}

// ---- MelSpectrogram, STFTSpectrogram --------------------------------------------------------------------------------

TEST(MelSpectrogram, Refusals) {
  const auto refused = [](const Json &config, const std::string &words, Code code = invalid) {
    expect_config_refusal("MelSpectrogram", config, code, words);
  };
  refused({{"fft_length", 0}}, "\"fft_length\": expected at least 1, got 0");
  refused({{"fft_length", 8193}}, "\"fft_length\": expected at most 8192, got 8193");
  refused({{"sequence_length", 2049}}, "\"sequence_length\": expected at most fft_length, 2048, got 2049");
  refused({{"sequence_stride", 0}}, "\"sequence_stride\": expected at least 1");
  refused({{"window", "kaiser"}}, "\"kaiser\" is not supported", Code::unsupported);
  refused({{"min_freq", 8000}}, "\"max_freq\": expected above min_freq, 8000.0, got 8000.0");
  refused({{"max_freq", 10}}, "\"max_freq\": expected above min_freq, 20.0, got 10.0");
  refused({{"num_mel_bins", 0}}, "\"num_mel_bins\": expected at least 1");
  expect_call_refusal("MelSpectrogram", {}, {{2, 1024}},
                      "expected more than fft_length / 2, 1024, samples. Full shape received: (2, 1024)");
  expect_call_refusal("MelSpectrogram", {}, {{2, 4000, 1}}, "expected ndim=2, found ndim=3");
}

TEST(MelSpectrogram, Shapes) {
  const auto shape = [](const Shape &x, DType dtype = DType::f32) {
    LayerCall l("MelSpectrogram", {{"fft_length", 64}, {"sequence_stride", 10}, {"num_mel_bins", 7}});
    return l.shape(l.call({l.input(x, dtype)})[0]);
  };
  EXPECT_EQ(shape({3, 100}), (Shape{3, 7, 11}));
  EXPECT_EQ(shape({3, 109}), (Shape{3, 7, 11}));
  EXPECT_EQ(shape({100}), (Shape{7, 11}));
  EXPECT_EQ(shape({3, free_dim}), (Shape{3, 7, free_dim}));
  EXPECT_EQ(shape({3, 100}, DType::i32), (Shape{3, 7, 11}));
}

// A sine in the middle of a band is loudest in that.
TEST(MelSpectrogram, HearsATone) {
  LayerCall l(
      "MelSpectrogram",
      {{"fft_length", 256}, {"sequence_stride", 128}, {"sampling_rate", 1000}, {"num_mel_bins", 8}, {"min_freq", 0.0}});
  const auto out = l.call({l.input({1000})});
  const double top = 1127 * std::log(1 + 500 / 700.0), hertz = 700 * (std::exp(top * 6 / 9 / 1127) - 1);
  const Tensor tone = naive(
      {1000}, [&](const auto &i) { return std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i[0]) / 1000); });
  const Tensor y = l.run(out, {tone})[0];
  for (int64_t t = 1; t + 1 < y.shape[1]; ++t)
    for (int64_t b = 0; b < 8; ++b) EXPECT_LE(at(y, {b, t}), at(y, {5, t}) - (b == 5 ? 0 : 3)) << b << ' ' << t;
}

TEST(STFTSpectrogram, AngleHasAGradient) {
  const Json config{{"mode", "angle"}, {"frame_length", 4}, {"window", nullptr}, {"scaling", nullptr}};
  LayerCall l("STFTSpectrogram", config);
  EXPECT_EQ(l.shape(l.call({l.input({2, 9, 1})})[0]), (Shape{2, 3, 3}));
}

// ---- CTC ------------------------------------------------------------------------------------------------------------

Build1 ctc() {
  const auto loss = kinds::parse<kinds::Loss>(kind("CTC"));
  return [loss](Emit &e, const std::vector<Id> &in) { return loss->items(e, in[0], in[1]).value; };
}

TEST(Ctc, Targets) {
  // Two steps over two classes, all alike: label 1 comes of three of the four paths.
  const Tensor x = make_zeros(DType::f32, {1, 2, 2});
  for (DType t : {DType::i32, DType::i64, DType::u8, DType::f32})
    check(ctc(), {naive(t, {1, 3}, [](const auto &i) { return i[1] == 0; }), x},
          tensor<float>({1}, {static_cast<float>(-std::log(0.75))}));
}

TEST(Ctc, LossRefusals) {
  check_refused(ctc(), {{4, 2}, {4, 3}}, Code::shape_mismatch,
                "predictions have shape (4, 3), expected (batch, steps,");
  check_refused(ctc(), {{4}, {4, 5, 3}}, Code::shape_mismatch,
                "targets have shape (4,), expected labels (batch, length)");
  check_refused(ctc(), {{3, 2}, {4, 5, 3}}, Code::shape_mismatch, "targets have shape (3, 2)");
  const auto loss = kinds::parse<kinds::Loss>(kind("CTC"));
  expect_refusal(Code::shape_mismatch, "predictions have shape (4, 3)", [&] { loss->target_shape({4, 3}, {4, 2}); });
  EXPECT_EQ(loss->target_shape({4, 5, 3}, {4, 2}), (Shape{4, free_dim}));
  expect_refusal(Code::unknown_kind, "unknown metric \"CTC\"", [] { kinds::find("metric", "CTC"); });
}

// ---- Muon -----------------------------------------------------------------------------------------------------------

TEST(Muon, Refusals) {
  const auto refused = [](const Json &config, const std::string &words, Code code = invalid) {
    expect_refusal(code, words, [&] { kinds::find("optimizer", "Muon").make(config); });
  };
  refused({{"exclude_layers", Json::array({"head", "dense_[12]"})}},
          "\"exclude_layers\": regular expressions are not supported, got \"dense_[12]\"", Code::unsupported);
  for (const char *word : {"a|b", "a.b", ".*", "a+", "^^a", "\\bhead"})
    refused({{"exclude_layers", Json::array({word})}}, "regular expressions", Code::unsupported);
  refused({{"adam_beta_1", 1}}, "\"adam_beta_1\": expected below 1");
  refused({{"adam_beta_2", 1}}, "\"adam_beta_2\": expected below 1");
  refused({{"ns_steps", -1}}, "\"ns_steps\": expected at least 0");
  refused({{"clipnorm", 1}, {"clipvalue", 1}}, "only one of");
  for (const Json &fine : {Json(nullptr), Json(Json::array()), Json::array({"^head", "kernel$", "^a/b$"})})
    EXPECT_TRUE(kinds::find("optimizer", "Muon").make({{"exclude_layers", fine}}));
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
