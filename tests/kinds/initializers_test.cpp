// Initializers: values, limits, moments, orthogonality, and the numbers that TensorFlow and Keras draw from a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "harness/evaluate.hpp"
#include "kinds/weight.hpp"

namespace dl4::kinds::DL4_FILE {
namespace {

using test::values;

Of<Initializer> make(const Json &j) { return parse<Initializer>(j); }
Of<Initializer> make(const char *name, const Json &config) {
  return make(Json{{"class_name", name}, {"config", config}});
}

std::vector<double> draw(const Of<Initializer> &i, const Shape &shape, Seed seed = {1, 2}) {
  Tensor t = make_tensor(DType::f32, shape);
  i->fill(t, seed);
  return values(t);
}

double mean(const std::vector<double> &v) {
  double s = 0;
  for (double x : v) s += x;
  return s / static_cast<double>(v.size());
}

double deviation(const std::vector<double> &v) {
  double m = mean(v), s = 0;
  for (double x : v) s += (x - m) * (x - m);
  return std::sqrt(s / static_cast<double>(v.size()));
}

TEST(Initializers, Plain) {
  EXPECT_EQ(draw(make("zeros"), {2, 2}), std::vector<double>(4, 0));
  EXPECT_EQ(draw(make("one"), {3}), std::vector<double>(3, 1));
  EXPECT_EQ(draw(make("Constant", {{"value", 0.5}}), {2}), std::vector<double>(2, 0.5));
  EXPECT_EQ(draw(make("IdentityInitializer", {{"gain", 2}}), {2, 3}), (std::vector<double>{2, 0, 0, 0, 2, 0}));
  EXPECT_THROW(draw(make("Identity"), {2, 2, 2}), Error);
  EXPECT_EQ(draw(make("glorot_uniform"), {0, 4}).size(), 0u);
}

TEST(Initializers, SpreadAndLimits) {
  struct Case {
    const char *name;
    Json config;
    Shape shape;
    double variance, limit;  // limit in deviations; 0 = none
  };
  const double cut = 2 / 0.87962566103423978, even = std::sqrt(3);
  const Json untruncated{{"scale", 3}, {"mode", "fan_out"}, {"distribution", "untruncated_normal"}};
  for (const Case &c : {
           Case{"GlorotUniform", {}, {120, 200}, 2.0 / 320, even},
           Case{"GlorotNormal", {}, {120, 200}, 2.0 / 320, cut},
           Case{"HeUniform", {}, {120, 200}, 2.0 / 120, even},
           Case{"HeNormal", {}, {3, 3, 20, 60}, 2.0 / 180, cut},
           Case{"LecunUniform", {}, {20000}, 1.0 / 20000, even},
           Case{"LecunNormal", {}, {5, 40, 60}, 1.0 / 200, cut},
           Case{"VarianceScaling", untruncated, {3, 3, 20, 60}, 3.0 / 540, 0},
           Case{"VarianceScaling", {{"distribution", "normal"}}, {100, 100}, 1.0 / 100, cut},
           Case{"HeUniform", {{"input_axes", {1, 2}}, {"output_axes", {0}}}, {100, 10, 20}, 2.0 / 200, even},
           Case{"RandomUniform", {}, {20000}, 0.05 * 0.05 / 3, even},
           Case{"RandomNormal", {{"stddev", 2.0}}, {20000}, 4, 0},
           Case{"TruncatedNormal", {}, {20000}, std::pow(0.05 * 0.87962566103423978, 2), cut},
       }) {
    auto v = draw(make(c.name, c.config), c.shape);
    double wanted = std::sqrt(c.variance), n = static_cast<double>(v.size());
    EXPECT_NEAR(mean(v), 0, 5 * wanted / std::sqrt(n)) << c.name;
    EXPECT_NEAR(deviation(v) / wanted, 1, 0.03) << c.name;
    double most =
        std::abs(*std::max_element(v.begin(), v.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
    if (c.limit) {
      EXPECT_LE(most, c.limit * wanted * (1 + 1e-5)) << c.name;
    }
  }
}

TEST(Initializers, OrthogonalMakesTheFewerOfRowsAndColumnsOrthonormal) {
  for (const Shape &shape : {Shape{8, 8}, Shape{24, 6}, Shape{6, 24}, Shape{3, 3, 4, 8}, Shape{1, 5}}) {
    auto q = draw(make("Orthogonal", {{"gain", 2}}), shape);
    int64_t columns = shape.last(), rows = shape.elements() / columns;
    bool tall = rows >= columns;
    for (int64_t i = 0; i < std::min(rows, columns); ++i)
      for (int64_t j = 0; j <= i; ++j) {
        double dot = 0;
        for (int64_t k = 0; k < std::max(rows, columns); ++k)
          dot += tall ? q[k * columns + i] * q[k * columns + j] : q[i * columns + k] * q[j * columns + k];
        EXPECT_NEAR(dot, i == j ? 4 : 0, 2e-6) << shape.rank();
      }
  }
  EXPECT_THROW(draw(make("Orthogonal"), {4}), Error);
}

TEST(Initializers, Stft) {
  // One frame of 4 under the window 0, 3/4, 3/4, 0 of norm sqrt(9/8), angles -pi/2 apart.
  const double v = 0.75 / std::sqrt(1.125);
  auto real = draw(make("STFT"), {4, 1, 3}), imag = draw(make("STFT", {{"side", "imag"}}), {4, 1, 3});
  const std::vector<double> cosines{0, 0, 0, v, 0, -v, v, -v, v, 0, 0, 0}, sines{0, 0, 0, 0, -v, 0, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(real[i], cosines[i], 1e-6) << i;
    EXPECT_NEAR(imag[i], sines[i], 1e-6) << i;
  }
  EXPECT_EQ(draw(make("STFT", {{"window", nullptr}}), {1, 1, 2}), (std::vector<double>{1, 1}));
  EXPECT_THROW(draw(make("STFT"), {4, 2, 3}), Error);
}

TEST(Initializers, SeedsOfTensorFlow) {
  OpSeeds seeds(42);
  for (int64_t wanted : {478163327, 107420369, 1181241943, 1051802512}) EXPECT_EQ(seeds.next(), wanted);
}

TEST(Initializers, AnOwnSeedFixesTheDraw) {
  auto own = make("GlorotNormal", {{"seed", 7}}), graph = make("GlorotNormal", {});
  EXPECT_FALSE(own->is_random());
  EXPECT_TRUE(graph->is_random());
  EXPECT_FALSE(make("zeros")->is_random());
  Seed a{1, 2}, b{1, 3}, c{9, 9};
  EXPECT_EQ(draw(own, {5, 5}, a), draw(own, {5, 5}, c));
  EXPECT_NE(draw(graph, {5, 5}, a), draw(graph, {5, 5}, b));
  EXPECT_EQ(draw(graph, {5, 5}, a), draw(graph, {5, 5}, a));
}

// Keras 3.15.1 on tensorflow-cpu 2.21.0.
TEST(Initializers, OwnSeedsDrawTheNumbersOfKeras) {
  const Json unit{{"minval", 0}, {"maxval", 1}, {"seed", 7}}, normal{{"stddev", 1}, {"seed", 7}};
  auto unit_with = [&](int64_t seed) {
    Json j = unit;
    j["seed"] = seed;
    return j;
  };
  struct Case {
    const char *name;
    Json config;
    Shape shape;
    std::vector<double> first;
  };
  for (const Case &c : {
           Case{"RandomUniform",
                unit,
                {6},
                {0.7470787763595581, 0.67218017578125, 0.057779550552368164, 0.6442131996154785, 0.07030856609344482,
                 0.6681548357009888}},
           Case{"RandomUniform", unit_with(-3), {3}, {0.33572447299957275, 0.735736608505249, 0.9126181602478027}},
           Case{"RandomUniform",
                unit_with((int64_t{1} << 40) + 5),
                {3},
                {0.5706198215484619, 0.1422051191329956, 0.7937700748443604}},
           Case{"RandomNormal",
                normal,
                {6},
                {-0.6741727590560913, -0.35869255661964417, -1.8795816898345947, -1.4728931188583374,
                 -2.006253719329834, -1.133432388305664}},
           Case{"TruncatedNormal",
                normal,
                {10},
                {-0.6741727590560913, -0.35869255661964417, -1.8795816898345947, -1.4728931188583374,
                 -0.7252445220947266, 0.7603579163551331, -0.060766495764255524, -1.9927692413330078,
                 -0.09214610606431961, 0.389504075050354}},
           Case{"Orthogonal",
                {{"seed", 7}},
                {3, 4},
                {-0.3256601095199585, -0.7114830017089844, -0.580233097076416, -0.2259802222251892,
                 0.040512703359127045, -0.6684310436248779, 0.6873828768730164, 0.281182199716568, -0.8721922636032104,
                 0.19683203101158142, 0.3546551465988159, -0.273418128490448}},
           Case{"GlorotUniform",
                {{"seed", 5}},
                {3, 2},
                {-0.9599313735961914, 0.726650595664978, 1.037555456161499, -0.34013402462005615, 0.02279973030090332,
                 -0.31302911043167114}},
           Case{"HeNormal",
                {{"seed", 5}},
                {3, 3, 2, 2},
                {0.4388941824436188, 0.07260990887880325, -0.049179594963788986, 0.34364891052246094}},
       }) {
    auto v = draw(make(c.name, c.config), c.shape);
    for (size_t i = 0; i < c.first.size(); ++i) EXPECT_NEAR(v[i], c.first[i], 2e-6) << c.name << ' ' << i;
  }
}

TEST(Initializers, TheSeedsOfTheTensorFlowSchemeDrawTheNumbersOfTensorFlow) {
  const std::vector<double> first{0.32746851444244385, -0.8426257967948914, 0.31943368911743164, -1.407551884651184};
  auto v = draw(make("TruncatedNormal", {{"stddev", 1}}), {10}, {42, 478163327});
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(v[i], first[i], 2e-6) << i;
}

void refused(const char *name, const Json &config, const std::string &words) {
  try {
    make(name, config);
    ADD_FAILURE() << name << ' ' << config.dump() << " was not refused";
  } catch (const Error &e) {
    EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
  }
}

TEST(Initializers, Refusals) {
  refused("VarianceScaling", {{"scale", 0}}, "\"scale\"");
  refused("VarianceScaling", {{"mode", "fan_inn"}}, "did you mean \"fan_in\"");
  refused("RandomNormal", {{"stddev", -1}}, "at least 0");
  refused("RandomNormal", {{"stdev", 1}}, "did you mean \"stddev\"");
  refused("GlorotUniform", {{"seed", 1.5}}, "\"seed\"");
  refused("STFT", {{"window", "kaiser"}}, "\"window\"");
  EXPECT_THROW(make("GlorotUnifrom"), Error);
  EXPECT_THROW(draw(make("HeUniform", {{"input_axes", {3}}, {"output_axes", {0}}}), {2, 2}), Error);
}

}  // namespace
}  // namespace dl4::kinds::DL4_FILE
