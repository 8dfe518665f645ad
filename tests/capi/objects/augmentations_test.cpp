// Image layers in training as Keras computes them (tests/golden/augmentations.py), and what is drawn there.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

// A layer that is called as in training; each run draws anew.
class Augmented {
 public:
  Augmented(const std::string &kind, const json &config, const std::vector<int64_t> &dims, const char *context = "{}") {
    Own<dl4_graph> g;
    ok(dl4_context_create(context, context_.out()));
    ok(dl4_graph_create(context_, g.out()));
    std::vector<int64_t> free = dims;
    free[0] = -1;
    dl4_node x = input(g, "x", free, DL4_FLOAT32), y = -1;
    ok(dl4_graph_add(g, kind.c_str(), "layer", config.dump().c_str(), R"({"training": true})", nullptr, &x, 1, &y, 1));
    ok(dl4_graph_build(g, &x, 1, &y, 1, model_.out()));
    ok(dl4_session_create(model_, nullptr, session_.out()));
  }
  Own<dl4_tensor> operator()(const dl4_tensor *x) {
    dl4_tensor *in = const_cast<dl4_tensor *>(x);
    Own<dl4_tensor> y;
    ok(dl4_session_run(session_, &in, 1, y.out(), 1, nullptr));
    return y;
  }

 private:
  Own<dl4_context> context_;
  Own<dl4_model> model_;
  Own<dl4_session> session_;
};

const std::string golden = std::string(DL4_SOURCE_DIR) + "/tests/golden/augmentations";

json of_keras(const char *key) {
  std::ifstream in(golden + ".json");
  return json::parse(in).at(key);
}

// The largest distance of an image to that of the answers which is nearest.
double distance(const float *got, const json &answers) {
  double least = HUGE_VAL;
  for (const json &answer : answers) {
    double most = 0;
    for (size_t i = 0; i < answer.size(); ++i)
      most = std::max(most, static_cast<double>(std::abs(got[i] - answer[i].get<float>())));
    least = std::min(least, most);
  }
  return least;
}

TEST(Augmentations, AreInTrainingWhatKerasMakes) {
  for (const json &c : of_keras("cases")) {
    SCOPED_TRACE(c.at("kind").get<std::string>() + c.at("config").dump());
    const auto dims = c.at("shape").get<std::vector<int64_t>>();
    const auto x = tensor(dims, c.at("input").get<std::vector<float>>());
    Augmented layer(c.at("kind"), c.at("config"), dims);
    const double scale = c.at("input").size() && *std::max_element(c["input"].begin(), c["input"].end()) > 1 ? 255 : 1;
    for (int run = 0; run < 4; ++run) {
      const auto y = layer(x);
      ASSERT_EQ(std::vector<int64_t>(dl4_tensor_dims(y), dl4_tensor_dims(y) + 4),
                c.at("output_shape").get<std::vector<int64_t>>());
      const std::vector<float> got = floats(y);
      const size_t each = got.size() / static_cast<size_t>(dims[0]);
      for (size_t i = 0; i < c["answers"].size(); ++i)
        EXPECT_LE(distance(got.data() + i * each, c["answers"][i]), c.at("exact") ? 0 : 2e-5 * scale) << i;
    }
  }
}

TEST(Augmentations, AreInKerasFiles) {
  const json want = of_keras("file");
  const auto x = tensor({2, 6, 7, 3}, want.at("input").get<std::vector<float>>());
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, (golden + ".keras").c_str(), nullptr, m.out()));
  for (const char *format : {"", "keras", "native"}) {
    SCOPED_TRACE(format);
    if (*format) {
      Own<dl4_blob> b;
      ok(dl4_model_save_bytes(m, json{{"format", format}}.dump().c_str(), b.out()));
      m = {};
      ok(load_copy(nullptr, dl4_blob_data(b), dl4_blob_size(b), nullptr, m.out()));
    }
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    dl4_tensor *in = x;
    Own<dl4_tensor> y;
    ok(dl4_session_run(s, &in, 1, y.out(), 1, nullptr));
    const std::vector<float> got = floats(y);
    ASSERT_EQ(got.size(), want.at("output").size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want["output"][i].get<float>(), 1e-5) << i;
  }
}

// Numbers that images of one value show: what a layer drew for each.
std::vector<float> drawn(const std::string &kind, const json &config, int64_t images, float value, int runs = 1,
                         const char *context = "{}") {
  Augmented layer(kind, config, {images, 1, 1, 3}, context);
  const auto x = tensor({images, 1, 1, 3}, std::vector<float>(static_cast<size_t>(3 * images), value));
  std::vector<float> all;
  for (int run = 0; run < runs; ++run) {
    const std::vector<float> y = floats(layer(x));
    for (size_t i = 0; i < y.size(); i += 3) all.push_back(y[i]);
  }
  return all;
}

double mean_of(const std::vector<float> &v) {
  double sum = 0;
  for (float x : v) sum += static_cast<double>(x);
  return sum / static_cast<double>(v.size());
}

TEST(Augmentations, DrawForEachImageAndAnewInEachRun) {
  const json config = {{"factor", {-0.2, 0.4}}, {"value_range", {-1000, 1000}}};
  const std::vector<float> all = drawn("RandomBrightness", config, 2000, 0, 2);
  EXPECT_GT(std::set<float>(all.begin(), all.end()).size(), 3900u);
  EXPECT_GE(*std::min_element(all.begin(), all.end()), -400);
  EXPECT_LT(*std::max_element(all.begin(), all.end()), 800);
  EXPECT_NEAR(mean_of(all), 200, 30);  // five standard deviations of the mean
  const auto of_seed = [](const json &c, const char *context) {
    return drawn("RandomBrightness", c, 4, 0, 1, context);
  };
  EXPECT_NE(of_seed(config, R"({"seed": 1})"), of_seed(config, R"({"seed": 2})"));
  json seeded = config;
  seeded["seed"] = 7;
  EXPECT_EQ(of_seed(seeded, R"({"seed": 1})"), of_seed(seeded, R"({"seed": 2})"));
}

TEST(Augmentations, HappenAsOftenAsTheirFactor) {
  const auto often = [](const char *kind, const json &config) {
    const std::vector<float> all = drawn(kind, config, 4000, 10);
    return 1 - static_cast<double>(std::count(all.begin(), all.end(), 10.0f)) / 4000;
  };
  EXPECT_NEAR(often("RandomInvert", {{"factor", {0.3, 0.3}}}), 0.3, 0.04);
  EXPECT_NEAR(often("RandomInvert", {{"factor", 1.0}}), 0.5, 0.04);  // a probability from 0 to 1 is drawn first
  EXPECT_NEAR(often("RandomErasing", {{"factor", {0.6, 0.6}}, {"scale", {1, 1}}, {"fill_value", 3}}), 0.6, 0.04);
  EXPECT_EQ(often("RandomErasing", {{"factor", {0, 0}}}), 0);
}

TEST(Augmentations, MixByABetaDistribution) {
  // Image i has the value i: of an image w i + (1 - w) k.
  constexpr int64_t n = 1000;
  std::vector<float> values(n);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 2);
  const auto x = tensor({n, 1, 1, 1}, values);
  for (const auto &[alpha, variance] :
       {std::pair(0.2, 1 / (4 * 1.4)), std::pair(1.0, 1 / 12.0), std::pair(8.0, 1 / 68.0)}) {
    SCOPED_TRACE(alpha);
    Augmented layer("MixUp", {{"alpha", alpha}}, {n, 1, 1, 1});
    std::vector<double> shares;
    for (int run = 0; run < 8; ++run) {
      const std::vector<float> y = floats(layer(x));
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_TRUE(y[i] >= 0 && y[i] <= 1) << y[i];
        if (y[i] != values[i]) shares.push_back(static_cast<double>(std::abs(y[i] - values[i])));
      }
    }
    double sum = 0, squares = 0;
    for (double s : shares) sum += s, squares += s * s;
    const auto count = static_cast<double>(shares.size());
    if (alpha >= 1) {  // smaller ones have shares of 0, which are not seen
      EXPECT_GT(count, 3500);
      EXPECT_NEAR(sum / count, 0.5, 0.03);
      EXPECT_NEAR(squares / count - sum / count * (sum / count), variance, 0.15 * variance);
    } else {
      EXPECT_GT(count, 1500);
    }
  }
}

TEST(Augmentations, ChooseAmongChangesAndMixChains) {
  const std::vector<int64_t> dims = {3, 8, 9, 3};
  std::vector<float> values(3 * 8 * 9 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 256);
  const auto x = tensor(dims, values);
  for (const char *kind : {"RandAugment", "AugMix", "CutMix", "RandomPerspective", "RandomErasing"}) {
    SCOPED_TRACE(kind);
    Augmented layer(kind, json::object(), dims, R"({"seed": 3})");
    std::set<std::vector<float>> answers;
    for (int run = 0; run < 12; ++run) {
      const std::vector<float> y = floats(layer(x));
      for (float v : y) ASSERT_TRUE(v >= -1e-3f && v <= 255.001f) << v;
      answers.insert(y);
    }
    EXPECT_GT(answers.size(), 6u);
  }
}

TEST(Augmentations, TakeChannelsFirst) {
  std::vector<float> last(2 * 4 * 5 * 3), first(last.size());
  for (size_t i = 0; i < last.size(); ++i) {
    last[i] = static_cast<float>(i * 29 % 251);
    const size_t c = i % 3, w = i / 3 % 5, h = i / 15 % 4, b = i / 60;
    first[((b * 3 + c) * 4 + h) * 5 + w] = last[i];
  }
  for (const auto &[kind, config] :
       {std::pair("RandomRotation", json{{"factor", {0.1, 0.1}}}), std::pair("RandomHue", json{{"factor", {0, 0}}}),
        std::pair("Equalization", json::object())}) {
    SCOPED_TRACE(kind);
    json turned = config;
    turned["data_format"] = "channels_first";
    const std::vector<float> a = floats(Augmented(kind, config, {2, 4, 5, 3})(tensor({2, 4, 5, 3}, last)));
    const std::vector<float> b = floats(Augmented(kind, turned, {2, 3, 4, 5})(tensor({2, 3, 4, 5}, first)));
    for (size_t i = 0; i < a.size(); ++i) {
      const size_t c = i % 3, w = i / 3 % 5, h = i / 15 % 4, n = i / 60;
      ASSERT_EQ(a[i], b[((n * 3 + c) * 4 + h) * 5 + w]) << i;
    }
  }
}

TEST(Augmentations, HaveTheGradientsOfDifferences) {
  const json some = {{"factor", {0.2, 0.3}}};
  const std::vector<std::pair<const char *, json>> all = {
      {"RandomBrightness", some},
      {"RandomColorDegeneration", some},
      {"RandomContrast", some},
      {"RandomHue", some},
      {"RandomSaturation", some},
      {"RandomSharpness", some},
      {"RandomColorJitter", {{"contrast_factor", 0.3}, {"hue_factor", 0.2}}},
      {"RandomErasing", {{"fill_value", 3}}},
      {"RandomFlip", json::object()},
      {"RandomGaussianBlur", json::object()},
      {"RandomGrayscale", json::object()},
      {"RandomInvert", json::object()},
      {"RandomPerspective", {{"scale", 0.3}}},
      {"RandomRotation", some},
      {"RandomShear", {{"x_factor", 0.3}, {"y_factor", 0.2}}},
      {"RandomZoom", {{"height_factor", 0.3}}},
      {"RandomTranslation", {{"height_factor", 0.3}, {"width_factor", 0.3}, {"fill_mode", "wrap"}}},
      {"RandomCrop", {{"height", 3}, {"width", 4}}},
      {"MixUp", json::object()},
      {"CutMix", json::object()},
      {"Solarization", json::object()},
      {"AutoContrast", json::object()}};
  std::vector<float> values(2 * 5 * 6 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 60 + 0.317f * static_cast<float>(i * 97 % 331);
  const auto x = tensor({2, 5, 6, 3}, values);
  for (const auto &[kind, config] : all) {
    SCOPED_TRACE(kind);
    Own<dl4_graph> g;
    Own<dl4_model> m;
    Own<dl4_blob> b;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node in = input(g, "x", {-1, 5, 6, 3}, DL4_FLOAT32), y = add(g, kind, nullptr, config.dump(), in);
    ok(dl4_graph_build(g, &in, 1, &y, 1, m.out()));
    dl4_tensor *given = x;
    ok(dl4_model_check_gradients(m, &given, 1, R"({"training": true, "samples": 60, "step": 0.0005})", b.out()));
    const json report = json::parse(dl4_blob_data(b), dl4_blob_data(b) + dl4_blob_size(b));
    for (const auto &[name, one] : report.items()) {
      EXPECT_GT(one.at("largest_gradient").get<double>(), 0.05) << report.dump();
      EXPECT_LT(one.at("error").get<double>(), 0.02 * std::max(1.0, one["largest_gradient"].get<double>()))
          << report.dump();
    }
  }
}

// The same numbers are drawn again where a training continues.
TEST(Augmentations, TrainAndContinue) {
  Own<dl4_context> c;
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_context_create(R"({"seed": 5})", c.out()));
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, 6, 6, 3}, DL4_FLOAT32), y = x;
  for (const char *kind : {"RandomFlip", "RandAugment", "MixUp"}) y = add(g, kind, nullptr, "{}", y);
  y = add(g, "Rescaling", nullptr, R"({"scale": 0.004})", y);
  y = add(g, "Flatten", nullptr, "{}", y);
  y = add(g, "Dense", nullptr, R"({"units": 1})", y);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  std::vector<float> values(4 * 6 * 6 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 53 % 256);
  const auto in = tensor({4, 6, 6, 3}, values), target = tensor({4, 1}, {1, 2, 3, 4});
  dl4_tensor *xs = in, *ys = target;
  const auto steps = [&](dl4_trainer *t, int count) {
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) {
      double metrics[2];
      ok(dl4_trainer_step(t, &xs, 1, &ys, 1, nullptr, 0, metrics, 2, nullptr));
      losses.push_back(metrics[0]);
    }
    return losses;
  };
  constexpr const char *options =
      R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.001}}, "loss": "mse"})";
  Own<dl4_trainer> t, again;
  ok(dl4_trainer_create(m, options, t.out()));
  steps(t, 3);
  Own<dl4_blob> state;
  ok(dl4_trainer_save_bytes(t, state.out()));
  const std::vector<double> first = steps(t, 5);
  EXPECT_GT(std::set<double>(first.begin(), first.end()).size(), 4u);
  ok(dl4_trainer_load_bytes(t, dl4_blob_data(state), dl4_blob_size(state)));
  EXPECT_EQ(steps(t, 5), first);
}

// Images that training could not change pass through in inference.
TEST(Augmentations, AnyImagesPassInInference) {
  for (const auto &[kind, config] : std::vector<std::pair<const char *, const char *>>{
           {"RandomBrightness", R"({"factor": 0.3})"}, {"RandomFlip", "{}"}, {"RandomHue", R"({"factor": 0.3})"}}) {
    SCOPED_TRACE(kind);
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {-1, -1, -1, 2}), y = add(g, kind, nullptr, config, x);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    auto in = tensor({1, 1, 2, 2}, {1, 2, 3, 4});
    dl4_tensor *given = in, *out = nullptr;
    ok(dl4_session_run(s, &given, 1, &out, 1, nullptr));
    Own<dl4_tensor> got = out;
    EXPECT_EQ(floats(got), (std::vector<float>{1, 2, 3, 4}));
    const char *trained = R"({"training": true})";
    Own<dl4_session> t;
    EXPECT_NE(refusal(dl4_session_create(m, trained, t.out())).message.find("expected images of"), std::string::npos);
  }
}

TEST(Augmentations, AreRefused) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const auto refused = [&](const char *kind, const json &config, const std::string &says, int64_t channels = 3,
                           int32_t dtype = DL4_FLOAT32, int64_t height = 4) {
    SCOPED_TRACE(kind + config.dump());
    dl4_node x = input(g, nullptr, {-1, height, 4, channels}, dtype), y = -1;
    Refusal r =
        refusal(dl4_graph_add(g, kind, nullptr, config.dump().c_str(), R"({"training": true})", nullptr, &x, 1, &y, 1));
    if (!r.code) {  // a model that may be run without training
      Own<dl4_model> m;
      Own<dl4_session> s;
      ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
      r = refusal(dl4_session_create(m, nullptr, s.out()));
    }
    EXPECT_NE(r.code, 0);
    EXPECT_NE(r.message.find(says), std::string::npos) << r.message;
  };
  const json some = {{"factor", 0.2}};
  refused("RandomBrightness", {{"factor", 1.5}}, "\"factor\": expected numbers from -1 to 1, got 1.5");
  refused("RandomBrightness", {{"factor", {1, 2, 3}}}, "\"factor\": expected a number or two");
  refused("RandomBrightness", {{"factor", "much"}}, "\"factor\": expected a number or two");
  refused("RandomZoom", {{"height_factor", -1.0}}, "-1 (not itself) to 1");
  refused("RandomZoom", {{"height_factor", {-0.5, 1.5}}}, "\"height_factor\"");
  refused("RandomPosterization", {{"factor", 9}}, "\"factor\": expected numbers from 1 to 8");
  refused("RandomRotation", {{"factor", 0.2}, {"fill_mode", "edge"}}, "\"fill_mode\": expected one of \"reflect\"");
  refused("RandomRotation", {{"factor", 0.2}, {"interpolation", "bicubic"}}, "\"interpolation\": expected one of");
  refused("RandomRotation", {{"factor", 0.2}, {"fill_value", "x"}}, "\"fill_value\": expected a number");
  refused("RandomFlip", {{"mode", "both"}}, "\"mode\": expected one of \"horizontal\"");
  refused("RandomHue", {{"factor", 0.2}, {"value_range", 255}}, "\"value_range\": expected two numbers");
  refused("RandomGaussianBlur", {{"kernel_size", 4}}, "\"kernel_size\": expected one odd size");
  refused("RandomErasing", {{"fill_value", {1, 2}}}, "\"fill_value\": expected null, a number or three");
  refused("RandomErasing", {{"fill_value", {1, 2, 3}}}, "images of 3 channels", 1);
  refused("RandomColorJitter", {{"hue_factor", 2}}, "\"hue_factor\": expected numbers from 0 to 1");
  refused("RandomColorJitter", {{"hue_factor", 0.2}}, "images of 3 channels", 4);
  refused("MixUp", {{"alpha", 0}}, "\"alpha\": expected a number above 0");
  refused("RandAugment", {{"num_ops", 0}}, "\"num_ops\": expected 1 to 16");
  refused("Equalization", {{"bins", 1}}, "\"bins\": expected 2 to 65536");
  refused("RandomCrop", {{"height", 0}, {"width", 2}}, "\"height\": expected a size of at least 1");
  refused("RandomHue", some, "images of 3 channels", 1);
  refused("RandomGrayscale", json::object(), "images of 1 or 3 channels", 2);
  refused("RandomBrightness", some, "expected float32 images in training, got uint8", 3, DL4_UINT8);
  refused("RandomFlip", json::object(), "images of a known size", 3, DL4_FLOAT32, -1);
  refused("Pipeline", {{"layers", json::array()}}, "\"layers\": expected at least one layer");
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
