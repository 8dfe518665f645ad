// Hazard 8: NaN that would vanish on the way, and NaN that would leak out of a masked step.
#include <cmath>
#include <limits>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> through(const std::string &kind, const std::string &json, std::vector<int64_t> dims,
                           const std::vector<float> &values) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  Own<dl4_tensor> y;
  auto in = tensor(dims, values);
  dims[0] = -1;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", dims), out = add(g, kind.c_str(), nullptr, json, x);
  ok(dl4_graph_build(g, &x, 1, &out, 1, m.out()));
  ok(dl4_session_create(m, nullptr, s.out()));
  dl4_tensor *first = in;
  ok(dl4_session_run(s, &first, 1, y.out(), 1, nullptr));
  return floats(y);
}

TEST(Hazard8, NanGoesThroughEveryActivation) {
  for (const std::string &name : kinds_of("activation")) {
    std::string of = R"({"activation": ")" + name + "\"}";
    if (name == "threshold")
      of = R"({"activation": {"class_name": "threshold", "config": {"threshold": 0.5, "default_value": 0}}})";
    for (size_t width : {4u, 38u}) {
      std::vector<float> x = numbers(width);
      x[1] = nan;
      auto y = through("Activation", of, {1, static_cast<int64_t>(width)}, x);
      EXPECT_TRUE(std::isnan(y[1])) << name << " made " << y[1] << " of NaN, width " << width;
    }
  }
}

TEST(Hazard8, NanGoesThroughLayers) {
  const std::pair<const char *, const char *> images[] = {
      {"MaxPooling2D", R"({"pool_size": 2})"},
      {"MaxPooling2D", R"({"pool_size": 3, "strides": 1, "padding": "same"})"},
      {"AveragePooling2D", R"({"pool_size": 2})"},
      {"GlobalMaxPooling2D", "{}"},
      {"GlobalAveragePooling2D", "{}"},
      {"Conv2D", R"({"filters": 1, "kernel_size": 2})"},
      {"Conv2D", R"({"filters": 16, "kernel_size": 3, "activation": "relu"})"},
      {"Dense", R"({"units": 3, "activation": "relu"})"},
      {"Flatten", "{}"},
      {"Dropout", R"({"rate": 0.5})"},
      {"Softmax", "{}"},
      {"Permute", R"({"dims": [3, 1, 2]})"}};
  for (const auto &[kind, json] : images) {
    for (int64_t channels : {1, 16}) {
      auto x = numbers(static_cast<size_t>(16 * channels));
      x[0] = nan;
      auto y = through(kind, json, {1, 4, 4, channels}, x);
      EXPECT_TRUE(std::isnan(y[0])) << kind << ' ' << json << ", " << channels << " channels: " << y[0];
    }
  }
  auto x = numbers(12);
  x[4] = nan;
  EXPECT_TRUE(std::isnan(through("LSTM", R"({"units": 3})", {1, 3, 4}, x)[0]));
}

// x [1, 3, 4] and a mask [1, 3] that leaves the middle step out.
struct Masked {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  dl4_node x = -1, mask = -1;

  Masked() {
    ok(dl4_graph_create(nullptr, g.out()));
    x = input(g, "x", {-1, 3, 4});
    mask = input(g, "mask", {-1, 3}, DL4_BOOL);
  }
  void build(dl4_node y) {
    dl4_node in[2] = {x, mask};
    ok(dl4_graph_build(g, in, 2, &y, 1, m.out()));
  }
  std::vector<float> run(float middle) {
    Own<dl4_session> s;
    Own<dl4_tensor> y;
    auto values = numbers(12);
    for (size_t i = 4; i < 8; ++i) values[i] = middle;
    auto in = tensor({1, 3, 4}, values), known = tensor({1, 3}, {}, DL4_BOOL);
    auto *bits = static_cast<uint8_t *>(dl4_tensor_data(known));
    bits[0] = bits[2] = 1;
    ok(dl4_session_create(m, nullptr, s.out()));
    dl4_tensor *all[2] = {in, known};
    ok(dl4_session_run(s, all, 2, y.out(), 1, nullptr));
    return floats(y);
  }
  void expect_no_leak(const char *what) {
    auto clean = run(0), dirty = run(nan);
    for (float v : dirty) EXPECT_TRUE(std::isfinite(v)) << what;
    EXPECT_EQ(clean, dirty) << what << ": a masked step changed the result";
  }
};

TEST(Hazard8, NanInAMaskedStepStaysThere) {
  {
    Masked lstm;
    dl4_node y = -1;
    ok(dl4_graph_add(lstm.g, "LSTM", nullptr, R"({"units": 5})", nullptr, refs("mask", {lstm.mask}), &lstm.x, 1, &y,
                     1));
    lstm.build(y);
    lstm.expect_no_leak("LSTM");
  }
  {
    Masked pool;
    dl4_node y = -1;
    ok(dl4_graph_add(pool.g, "GlobalAveragePooling1D", nullptr, nullptr, nullptr, refs("mask", {pool.mask}), &pool.x, 1,
                     &y, 1));
    pool.build(y);
    pool.expect_no_leak("GlobalAveragePooling1D");
  }
  for (const char *kind : {"Attention", "AdditiveAttention"}) {
    Masked attention;
    // Query and value are clean: the NaN is in a masked key.
    dl4_node clean = input(attention.g, "clean", {-1, 3, 4}), y = -1, in[3] = {clean, clean, attention.x};
    ok(dl4_graph_add(attention.g, kind, nullptr, nullptr, nullptr, refs("mask", {-1, attention.mask}), in, 3, &y, 1));
    dl4_node from[3] = {attention.x, attention.mask, clean};
    ok(dl4_graph_build(attention.g, from, 3, &y, 1, attention.m.out()));
    Own<dl4_session> s;
    ok(dl4_session_create(attention.m, nullptr, s.out()));
    auto run = [&](float middle) {
      auto values = numbers(12);
      for (size_t i = 4; i < 8; ++i) values[i] = middle;
      auto key = tensor({1, 3, 4}, values), known = tensor({1, 3}, {}, DL4_BOOL),
           other = tensor({1, 3, 4}, numbers(12));
      auto *bits = static_cast<uint8_t *>(dl4_tensor_data(known));
      bits[0] = bits[2] = 1;
      dl4_tensor *all[3] = {key, known, other};
      Own<dl4_tensor> out;
      ok(dl4_session_run(s, all, 3, out.out(), 1, nullptr));
      return floats(out);
    };
    auto without = run(0), with = run(nan);
    for (float v : with) EXPECT_TRUE(std::isfinite(v)) << kind;
    EXPECT_EQ(without, with) << kind;
  }
}

TEST(Hazard8, ARowOfMasksOnlyIsFiniteAsInKeras) {
  Masked attention;
  dl4_node y = -1, in[2] = {attention.x, attention.x};
  ok(dl4_graph_add(attention.g, "Attention", nullptr, nullptr, nullptr, refs("mask", {-1, attention.mask}), in, 2, &y,
                   1));
  attention.build(y);
  Own<dl4_session> s;
  Own<dl4_tensor> out;
  auto values = tensor({1, 3, 4}, numbers(12)), none = tensor({1, 3}, {}, DL4_BOOL);
  ok(dl4_session_create(attention.m, nullptr, s.out()));
  dl4_tensor *all[2] = {values, none};
  ok(dl4_session_run(s, all, 2, out.out(), 1, nullptr));
  for (float v : floats(out)) EXPECT_TRUE(std::isfinite(v));
}

TEST(Hazard8, ANanLossIsReportedAtTheStepAndChangesNothing) {
  for (const char *loss : {"MeanSquaredError", "CategoricalCrossentropy", "Huber"}) {
    auto model = small_net();
    auto t = trainer(model, std::string(R"({"optimizer": "Adam", "loss": ")") + loss + "\"}");
    auto good = tensor({2, 4}, numbers(8)), y = tensor({2, 3}, {1, 0, 0, 0, 1, 0});
    auto bad_values = numbers(8);
    bad_values[5] = nan;
    auto bad = tensor({2, 4}, bad_values);
    dl4_tensor *x = good, *target = y;
    for (int i = 0; i < 2; ++i) ok(dl4_trainer_step(t, &x, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
    Own<dl4_tensor> before, after;
    ok(dl4_model_get_weight(model, "answer/kernel", before.out()));
    x = bad;
    double metrics[4] = {7, 7, 7, 7};
    int64_t n = 7;
    Refusal r = refusal(dl4_trainer_step(t, &x, 1, &target, 1, nullptr, 0, metrics, 4, &n));
    EXPECT_EQ(r.code, DL4_NUMERIC);
    EXPECT_NE(r.message.find("step 3"), std::string::npos) << r.message;
    EXPECT_EQ(n, 0);
    ok(dl4_model_get_weight(model, "answer/kernel", after.out()));
    EXPECT_EQ(floats(before), floats(after));
    x = good;
    ok(dl4_trainer_step(t, &x, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
  }
}

TEST(Hazard8, TheGradientGuardMeetsNanThatTheLossHides) {
  auto model = small_net(nullptr, "linear");
  auto t = trainer(model, R"({"optimizer": "SGD", "loss": "MeanSquaredError", "nan_guard": "gradients"})");
  auto x = tensor({1, 4}, {3e38f, 3e38f, -3e38f, 3e38f}), y = tensor({1, 3}, {1, 2, 3});
  Own<dl4_tensor> before, after;
  ok(dl4_model_get_weight(model, "hidden/kernel", before.out()));
  dl4_tensor *in = x, *target = y;
  for (int i = 0; i < 3; ++i) dl4_release(dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
  ok(dl4_model_get_weight(model, "hidden/kernel", after.out()));
  for (float v : floats(after)) EXPECT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
