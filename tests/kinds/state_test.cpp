// The normalizations and the layers that draw: modes, masks, distributions, refusals.
#include <cmath>

#include "layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

TEST(BatchNormalization, ModesAndWrites) {
  LayerCall l("BatchNormalization", {{"momentum", 0.9}});
  Symbol x = l.masked({free_dim, free_dim, 4});
  const Symbol trained = l.call({x}, {}, true)[0];
  EXPECT_EQ(trained.mask, x.mask);
  ASSERT_EQ(l.specs.size(), 4u);
  EXPECT_EQ(l.specs[0].name, "gamma");
  EXPECT_EQ(l.specs[3].name, "moving_variance");
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(l.specs[i].trainable, i < 2) << i;
  const auto now = l.weights.at("moving_mean");
  EXPECT_EQ(l.program[now].role, ops::Role::temp) << "written";
  l.call({x}, {}, false);
  EXPECT_EQ(l.weights.at("moving_mean"), now) << "inference writes nothing";
}

TEST(BatchNormalization, Refusals) {
  const Json renorm{{"renorm", true}};
  auto clipped = [&](const Json &by) { return Json{{"renorm", true}, {"renorm_clipping", by}}; };
  expect_config_refusal("BatchNormalization", clipped({{"rmin", 2.0}, {"rmax", 1.0}}), Code::invalid_argument,
                        "\"renorm_clipping\": expected rmax of at least rmin");
  expect_config_refusal("BatchNormalization", clipped({{"dmax", -1.0}}), Code::invalid_argument,
                        "\"renorm_clipping\": expected dmax of at least 0");
  expect_config_refusal("BatchNormalization", clipped({{"rmix", 1.0}}), Code::invalid_argument, "got \"rmix\"");
  expect_config_refusal("BatchNormalization", clipped({{"rmax", "high"}}), Code::invalid_argument, "a number");
  expect_config_refusal("BatchNormalization", clipped(3), Code::invalid_argument, "numbers by key");
  expect_call_refusal("BatchNormalization", {}, {{2, free_dim}}, "axis 1 of input 0 should be known");
  expect_call_refusal("BatchNormalization", {}, {{4}}, "expected min_ndim=2");
  expect_call_refusal("BatchNormalization", {{"axis", 3}}, {{2, 3, 4}}, "3", Code::invalid_argument);
  LayerCall l("BatchNormalization");
  EXPECT_EQ(l.shape(l.call({l.input({2, 3}, DType::i32)})[0]), (Shape{2, 3}));  // as Keras casts them
  expect_refusal(Code::shape_mismatch, "\"mask\": expected all axes but the last", [] {
    LayerCall l("BatchNormalization");
    l.call({l.masked({2, 3, 4, 5}, 2)}, {}, true);
  });
}

TEST(LayerNormalization, RefusalsAndMasks) {
  for (const char *kind : {"LayerNormalization", "RMSNormalization"}) {
    expect_config_refusal(kind, {{"axis", Json::array()}}, Code::invalid_argument, "at least one axis");
    expect_call_refusal(kind, {{"axis", {1, -2}}}, {{2, 3, 4}}, "an axis is listed twice", Code::invalid_argument);
    expect_call_refusal(kind, {{"axis", {1}}}, {{2, free_dim, 4}}, "axis 1 of input 0 should be known");
    expect_call_refusal(kind, {{"axis", {5}}}, {{2, 3, 4}}, "5", Code::invalid_argument);
    expect_call_refusal(kind, {}, {{2, 3}}, "dtype=float32", Code::invalid_argument, DType::i32);
  }
  expect_call_refusal("RMSNormalization", {{"axis", {1}}}, {{2, 3, 4}}, "3");
  LayerCall layer("LayerNormalization"), rms("RMSNormalization"),
      bare("LayerNormalization", {{"center", false}, {"scale", false}});
  Symbol x = layer.masked({free_dim, 3, 4});
  EXPECT_EQ(layer.call({x})[0].mask, x.mask);
  EXPECT_EQ(rms.call({rms.masked({free_dim, 3, 4})})[0].mask, ops::none) << "as in Keras";
  EXPECT_EQ(bare.shape(bare.call({bare.input({2, 3, free_dim})})[0]), (Shape{2, 3, free_dim}));
}

TEST(GroupNormalization, Refusals) {
  expect_config_refusal("GroupNormalization", {{"groups", 0}}, Code::invalid_argument, "\"groups\"");
  expect_config_refusal("GroupNormalization", {{"groups", -2}}, Code::invalid_argument, "\"groups\"");
  expect_call_refusal("GroupNormalization", {}, {{2, 3, 16}}, "a divisor of the 16 channels, got 32");
  expect_call_refusal("GroupNormalization", {{"groups", 3}}, {{2, 3, 16}}, "a divisor of the 16 channels, got 3");
  expect_call_refusal("GroupNormalization", {{"groups", 2}}, {{2, 3, free_dim}}, "axis 2 of input 0 should be known");
  expect_call_refusal("GroupNormalization", {{"groups", 2}, {"axis", 0}}, {{2, 3, 4}}, "behind that of the batch",
                      Code::invalid_argument);
}

TEST(Normalization, Refusals) {
  auto refuse = [](const Json &config, const std::string &words) {
    expect_config_refusal("Normalization", config, Code::invalid_argument, words);
  };
  refuse({{"mean", 1.0}}, "\"variance\": expected numbers");
  refuse({{"variance", {1.0}}}, "\"mean\": expected numbers");
  refuse({{"mean", {1.0, 2.0}}, {"variance", {1.0}}}, "\"variance\": expected shape (2,)");
  refuse({{"mean", {{1.0}}}, {"variance", {{1.0}}}}, "\"mean\": expected at most 1 axes");
  refuse({{"mean", {Json{1.0, 2.0}, Json{3.0}}}, {"variance", 1.0}, {"axis", {1, 2}}}, "lists of equal lengths");
  refuse({{"mean", {"a"}}, {"variance", {1.0}}}, "a number");
  expect_call_refusal("Normalization", {{"mean", {1.0, 2.0}}, {"variance", {1.0, 1.0}}}, {{2, 3}},
                      "does not fit axis 1");
  expect_call_refusal("Normalization", {}, {{2, free_dim}}, "axis 1 of input 0 should be known");
  expect_call_refusal("Normalization", {{"axis", {4}}}, {{2, 3}}, "4", Code::invalid_argument);
}

const std::vector<std::pair<const char *, Json>> drawing{
    {"GaussianNoise", {{"stddev", 0.5}}},
    {"GaussianDropout", {{"rate", 0.2}}},
    {"AlphaDropout", {{"rate", 0.2}}},
    {"SpatialDropout1D", {{"rate", 0.2}}},
};

TEST(Noise, ModesMasksAndSeeds) {
  for (const auto &[kind, config] : drawing) {
    SCOPED_TRACE(kind);
    LayerCall l(kind, config);
    Symbol x = l.masked({free_dim, 3, 4});
    EXPECT_EQ(l.call({x}, {}, false)[0].value, x.value);
    EXPECT_NE(l.call({x}, {}, true)[0].value, x.value);
    EXPECT_EQ(l.call({x}, {}, true)[0].mask, x.mask);
    EXPECT_EQ(l.call({x}, Arguments{Json{{"training", false}}, {}}, true)[0].value, x.value);
    EXPECT_EQ(l.seeds, 4u) << "asked for in every mode";
    Json own = config, never = config;
    own["seed"] = 7;
    never[kind == std::string("GaussianNoise") ? "stddev" : "rate"] = 0.0;
    LayerCall seeded(kind, own), still(kind, never);
    seeded.call({seeded.input({2, 3, 4})}, {}, true);
    EXPECT_EQ(seeded.seeds, 0u);
    Symbol y = still.input({2, 3, 4});
    EXPECT_EQ(still.call({y}, {}, true)[0].value, y.value);
  }
}

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(const std::vector<double> &v) {
  Moments m;
  for (double x : v) m.mean += x / static_cast<double>(v.size());
  for (double x : v) m.deviation += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

std::vector<double> drawn(const char *kind, const Json &config, const Tensor &x) {
  LayerCall l(kind, config);
  return values(l.run(l.call({l.input(x.shape)}, {}, true), {x})[0]);
}

TEST(Noise, Distributions) {
  const Tensor x = naive({200, 10, 10}, [](const auto &) { return 3; });
  Moments m = moments(drawn("GaussianNoise", {{"stddev", 0.5}}, x));
  EXPECT_NEAR(m.mean, 3, 0.02);
  EXPECT_NEAR(m.deviation, 0.5, 0.02);
  m = moments(drawn("GaussianDropout", {{"rate", 0.2}}, x));
  EXPECT_NEAR(m.mean, 3, 0.05);
  EXPECT_NEAR(m.deviation, 3 * 0.5, 0.05);
  EXPECT_EQ(drawn("GaussianNoise", {{"stddev", 0.5}, {"seed", 3}}, x),
            drawn("GaussianNoise", {{"stddev", 0.5}, {"seed", 3}}, x));
  EXPECT_NE(drawn("GaussianNoise", {{"stddev", 0.5}, {"seed", 3}}, x),
            drawn("GaussianNoise", {{"stddev", 0.5}, {"seed", 4}}, x));
}

TEST(Noise, AlphaDropoutKeepsMeanAndVariance) {
  LayerCall n("GaussianNoise", {{"stddev", 1.0}});
  const Tensor zero = naive({200, 10, 10}, [](const auto &) { return 0; });
  const Tensor x = n.run(n.call({n.input(zero.shape)}, {}, true), {zero})[0];
  const double alpha = -1.6732632423543772 * 1.0507009873554805;
  for (double rate : {0.1, 0.5}) {
    const auto y = drawn("AlphaDropout", {{"rate", rate}, {"seed", 5}}, x);
    const Moments m = moments(y);
    EXPECT_NEAR(m.mean, 0, 0.05) << rate;
    EXPECT_NEAR(m.deviation, 1, 0.04) << rate;
    const double a = 1 / std::sqrt((1 - rate) * (1 + rate * alpha * alpha)), b = -a * alpha * rate;
    double dropped = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const bool drop = std::fabs(y[i] - (a * alpha + b)) < 1e-5;
      dropped += drop;
      EXPECT_TRUE(drop || std::fabs(y[i] - (a * values(x)[i] + b)) < 1e-4);
      if (i > 200) break;  // values() copies
    }
    EXPECT_NEAR(dropped / 202, rate, 0.12);
  }
}

TEST(Noise, SpatialDropoutTakesWholeChannels) {
  struct One {
    const char *kind;
    Json config;
    Shape shape;
    int channels;
  };
  for (const One &o :
       {One{"SpatialDropout1D", {{"rate", 0.5}}, {30, 4, 8}, 2},
        One{"SpatialDropout2D", {{"rate", 0.5}}, {30, 2, 3, 8}, 3},
        One{"SpatialDropout2D", {{"rate", 0.5}, {"data_format", "channels_first"}}, {30, 8, 2, 3}, 1},
        One{"SpatialDropout3D", {{"rate", 0.5}}, {20, 2, 2, 3, 8}, 4},
        One{"SpatialDropout3D", {{"rate", 0.5}, {"data_format", "channels_first"}}, {20, 8, 2, 2, 3}, 1}}) {
    LayerCall l(o.kind, o.config);
    const Tensor x = naive(o.shape, [](const auto &) { return 1; });
    const Tensor y = l.run(l.call({l.input(o.shape)}, {}, true), {x})[0];
    std::map<std::pair<int64_t, int64_t>, double> seen;
    naive(o.shape, [&](const std::vector<int64_t> &i) {
      const double v = at(y, i);
      EXPECT_TRUE(v == 0 || v == 2) << v;
      auto [it, fresh] = seen.try_emplace({i[0], i[static_cast<size_t>(o.channels)]}, v);
      EXPECT_EQ(it->second, v) << o.kind;
      return 0.0;
    });
    double kept = 0;
    for (const auto &[key, v] : seen) kept += v != 0;
    EXPECT_NEAR(kept / static_cast<double>(seen.size()), 0.5, 0.15);
  }
}

TEST(Noise, Refusals) {
  auto refuse = [](const char *kind, const Json &config, const char *words, Code code = Code::invalid_argument) {
    expect_config_refusal(kind, config, code, words);
  };
  refuse("GaussianNoise", {{"stddev", 1.5}}, "\"stddev\": expected at most 1");
  refuse("GaussianNoise", {{"stddev", -0.5}}, "\"stddev\": expected at least 0");
  refuse("GaussianNoise", Json::object(), "\"stddev\" is missing");
  for (const char *kind : {"GaussianDropout", "AlphaDropout"}) {
    refuse(kind, {{"rate", 1.0}}, "\"rate\": expected less than 1", Code::unsupported);
    refuse(kind, {{"rate", -0.1}}, "\"rate\": expected at least 0");
    expect_call_refusal(kind, {{"rate", 0.5}}, {{2, 3}}, "dtype=float32", Code::invalid_argument, DType::i32);
  }
  refuse("AlphaDropout", {{"rate", 0.5}, {"noise_shape", {0}}}, "\"noise_shape\"");
  expect_call_refusal("AlphaDropout", {{"rate", 0.5}, {"noise_shape", {1}}}, {{2, 3}}, "expected 2 dims");
  refuse("SpatialDropout1D", {{"rate", 0.5}, {"data_format", "channels_first"}}, "data_format");
  refuse("SpatialDropout2D", {{"rate", 0.5}, {"data_format", "channels"}}, "expected one of");
  expect_call_refusal("SpatialDropout1D", {{"rate", 0.5}}, {{2, 3}}, "expected ndim=3");
  expect_call_refusal("SpatialDropout2D", {{"rate", 0.5}}, {{2, 3, 4}}, "expected ndim=4");
  expect_call_refusal("SpatialDropout3D", {{"rate", 0.5}}, {{2, 3, 4}}, "expected ndim=5");
  refuse("ActivityRegularization", {{"l1", -1.0}}, "\"l1\": expected at least 0");
}

TEST(ActivityRegularization, PenaltyOverTheBatch) {
  LayerCall l("ActivityRegularization", {{"l1", 0.5}, {"l2", 2.0}});
  Symbol x = l.masked({free_dim, 2});
  const Symbol y = l.call({x})[0];
  EXPECT_EQ(y.value, x.value);
  EXPECT_EQ(y.mask, x.mask);
  ASSERT_EQ(l.losses.size(), 1u);
  const Tensor mask = naive(DType::boolean, {2, 2}, [](const auto &) { return 1; });
  const Tensor penalty = l.run({{l.losses[0]}}, {tensor<float>({2, 2}, {1, -2, 0, 3}), mask})[0];
  EXPECT_FLOAT_EQ(penalty.as<float>()[0], (0.5f * 6 + 2 * 14) / 2);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
