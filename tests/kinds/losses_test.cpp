// Losses against their formulas in double, reductions with weights and masks, the logits behind probabilities,
// refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds::DL4_FILE {
namespace {

using namespace test;
using ops::none;

Of<Loss> loss(const char *name, const Json &config = Json::object()) {
  return parse<Loss>({{"class_name", name}, {"config", config}});
}

Build1 items_of(const Of<Loss> &l) {
  return [l](Emit &e, const std::vector<Id> &in) { return l->items(e, in[0], in[1]).value; };
}

using Row = std::vector<double>;
using OfRow = std::function<double(const Row &t, const Row &p)>;

// The mean over the row of f.
OfRow mean_of(const std::function<double(double t, double p)> &f) {
  return [f](const Row &t, const Row &p) {
    double s = 0;
    for (size_t i = 0; i < t.size(); ++i) s += f(t[i], p[i]);
    return s / static_cast<double>(t.size());
  };
}

Tensor by_rows(const Tensor &t, const Tensor &p, const OfRow &f) {
  auto width = static_cast<size_t>(p.shape.last());
  Tensor y = make_tensor(DType::f32, p.shape.first(p.shape.rank() - 1));
  auto tv = values(t), pv = values(p);
  for (size_t r = 0; r < static_cast<size_t>(y.elements()); ++r) {
    auto from = static_cast<std::ptrdiff_t>(r * width), to = from + static_cast<std::ptrdiff_t>(width);
    y.as<float>()[r] =
        static_cast<float>(f(Row(tv.begin() + from, tv.begin() + to), Row(pv.begin() + from, pv.begin() + to)));
  }
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double clip(double p) { return std::min(std::max(p, 1e-7), static_cast<double>(static_cast<float>(1 - 1e-7))); }
double binary(double t, double p) { return -t * std::log(p) - (1 - t) * std::log(1 - p); }
double size(const Row &v) {
  double s = 0;
  for (double x : v) s += x * x;
  return std::sqrt(s);
}
Row softmax(const Row &x) {
  double m = *std::max_element(x.begin(), x.end()), s = 0;
  Row y;
  for (double v : x) s += std::exp(v - m);
  for (double v : x) y.push_back(std::exp(v - m) / s);
  return y;
}

TEST(Losses, Formulas) {
  Tensor real = random({4, 3, 5}, 1), guess = random({4, 3, 5}, 2);
  Tensor share = random({4, 3, 5}, 3, 0.05, 0.95), chance = random({4, 3, 5}, 4, 0.05, 0.95);
  Tensor flags = tensor<float>({2, 3}, {0, 1, 1, 0, 1, 0}), score = random({2, 3}, 5);
  Tensor hot = tensor<float>({2, 3}, {0, 1, 0, 1, 0, 0});
  struct Case {
    const char *name;
    Json config;
    Tensor t, p;
    OfRow f;
    bool smooth = true;
  };
  auto hinge = [](double t, double p) { return std::max(1 - (2 * t - 1) * p, 0.0); };
  const Json logits{{"from_logits", true}}, smoothed{{"label_smoothing", 0.2}};
  const Json both{{"from_logits", true}, {"label_smoothing", 0.1}};
  auto categorical = [](double smoothing) {
    return [=](const Row &t, const Row &p) {
      double s = 0;
      for (size_t i = 0; i < t.size(); ++i)
        s -= (t[i] * (1 - smoothing) + smoothing / static_cast<double>(t.size())) * std::log(p[i]);
      return s;
    };
  };
  for (const Case &c : {
           Case{"MeanSquaredError", {}, real, guess, mean_of([](double t, double p) { return (t - p) * (t - p); })},
           Case{"MeanAbsoluteError",
                {},
                real,
                guess,
                mean_of([](double t, double p) { return std::abs(t - p); }),
                false},
           Case{"Huber", {{"delta", 0.7}}, real, guess, mean_of([](double t, double p) {
                  double a = std::abs(t - p);
                  return a <= 0.7 ? a * a / 2 : 0.7 * a - 0.245;
                })},
           Case{"MeanAbsolutePercentageError",
                {},
                share,
                chance,
                mean_of([](double t, double p) { return 100 * std::abs((t - p) / t); }),
                false},
           Case{"MeanSquaredLogarithmicError", {}, share, chance, mean_of([](double t, double p) {
                  return std::pow(std::log1p(t) - std::log1p(p), 2);
                })},
           Case{"LogCosh", {}, real, guess, mean_of([](double t, double p) { return std::log(std::cosh(p - t)); })},
           Case{"Poisson", {}, share, chance, mean_of([](double t, double p) { return p - t * std::log(p + 1e-7); })},
           Case{"KLDivergence",
                {},
                share,
                chance,
                [](const Row &t, const Row &p) {
                  double s = 0;
                  for (size_t i = 0; i < t.size(); ++i) s += t[i] * std::log(t[i] / p[i]);
                  return s;
                }},
           Case{"Hinge", {}, flags, score, mean_of(hinge), false},
           Case{
               "SquaredHinge", {}, flags, score, mean_of([=](double t, double p) { return std::pow(hinge(t, p), 2); })},
           Case{"CategoricalHinge",
                {},
                hot,
                score,
                [](const Row &t, const Row &p) {
                  double right = 0, wrong = -1e9;
                  for (size_t i = 0; i < t.size(); ++i) {
                    right += t[i] * p[i];
                    wrong = std::max(wrong, (1 - t[i]) * p[i]);
                  }
                  return std::max(0.0, wrong - right + 1);
                },
                false},
           Case{"CosineSimilarity",
                {},
                real,
                guess,
                [](const Row &t, const Row &p) {
                  double s = 0;
                  for (size_t i = 0; i < t.size(); ++i) s -= t[i] * p[i];
                  return s / size(t) / size(p);
                }},
           Case{"BinaryCrossentropy", {}, flags, random({2, 3}, 6, 0.1, 0.9), mean_of([](double t, double p) {
                  return binary(t, clip(p));
                })},
           Case{"BinaryCrossentropy", smoothed, share, chance,
                mean_of([](double t, double p) { return binary(t * 0.8 + 0.1, p); })},
           Case{"BinaryCrossentropy", logits, flags, score,
                mean_of([](double t, double p) { return binary(t, sigmoid(p)); })},
           Case{"CategoricalCrossentropy",
                {},
                hot,
                random({2, 3}, 7, 0.2, 0.9),
                [=](const Row &t, Row p) {
                  double s = p[0] + p[1] + p[2];
                  for (double &v : p) v /= s;
                  return categorical(0)(t, p);
                }},
           Case{"CategoricalCrossentropy", both, real, guess,
                [=](const Row &t, const Row &p) { return categorical(0.1)(t, softmax(p)); }},
       }) {
    SCOPED_TRACE(c.name);
    auto f = items_of(loss(c.name, c.config));
    check(f, {c.t, c.p}, by_rows(c.t, c.p, c.f), 2e-5, 1e-5);
    if (c.smooth) check_gradient(f, {c.t, c.p}, {1});
  }
}

TEST(Losses, SparseCategoricalCrossentropy) {
  Tensor x = random({2, 3, 4}, 1), p = random({2, 3, 4}, 2, 0.1, 0.9);
  std::vector<int32_t> label{0, 3, 1, 2, 2, 0};
  auto expected = [&](const Tensor &in, bool from_logits) {
    return naive({2, 3}, [&](const std::vector<int64_t> &i) {
      Row row;
      for (int64_t k = 0; k < 4; ++k)
        row.push_back(from_logits ? at(in, {i[0], i[1], k}) : std::log(at(in, {i[0], i[1], k})));
      return -std::log(softmax(row)[static_cast<size_t>(label[static_cast<size_t>(i[0] * 3 + i[1])])]);
    });
  };
  Tensor ints = tensor<int32_t>({2, 3}, label), column = tensor<int32_t>({2, 3, 1}, label);
  Tensor floats = tensor<float>({2, 3}, {label.begin(), label.end()});
  Tensor bytes = tensor<uint8_t>({2, 3}, {label.begin(), label.end()});
  auto f = items_of(loss("SparseCategoricalCrossentropy", {{"from_logits", true}}));
  for (const Tensor &y : {ints, floats, bytes}) check(f, {y, x}, expected(x, true), 1e-5, 1e-6);
  check(f, {column, x}, expected(x, true), 1e-5, 1e-6);
  check(items_of(loss("SparseCategoricalCrossentropy")), {ints, p}, expected(p, false), 1e-5, 1e-6);
  check_gradient(f, {ints, x}, {1});
  for (int32_t wrong : {4, -1}) {
    Program program = program_of(one(f), {ints, x});
    Tensor bad = tensor<int32_t>({2, 3}, {0, 1, wrong, 0, 0, 0});
    Result r = evaluate(program, {bad, x});
    EXPECT_EQ(r.fault, kernels::Fault::index_out_of_range);
    EXPECT_EQ(r.value, wrong);
  }
}

// One number from items {1, 2, 3, 4, 5, 6} of shape (2, 3), by MeanAbsoluteError against zeros.
double reduced(const Json &reduction, const Tensor *weight, const Tensor *mask, bool poison = false) {
  Tensor zeros = tensor<float>({2, 3, 1}, std::vector<float>(6, 0)), p = tensor<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  if (poison) p.as<float>()[5] = NAN;
  std::vector<Tensor> in{zeros, p};
  int w = -1, m = -1;
  if (weight) w = static_cast<int>(in.size()), in.push_back(*weight);
  if (mask) m = static_cast<int>(in.size()), in.push_back(*mask);
  auto l = loss("MeanAbsoluteError", {{"reduction", reduction}});
  Build1 f = [=](Emit &e, const std::vector<Id> &x) {
    return l->scalar(e, x[0], x[1], w < 0 ? none : x[static_cast<size_t>(w)], m < 0 ? none : x[static_cast<size_t>(m)]);
  };
  return values(run_all_ways(one(f), in, 1e-6)[0])[0];
}

TEST(Losses, Reductions) {
  Tensor rows = tensor<float>({2}, {2, 0}), column = tensor<float>({2, 1}, {2, 0});
  Tensor steps = tensor<float>({2, 3}, {1, 0, 2, 0, 0, 1});
  Tensor mask = tensor<bool>({2, 3}, {true, true, false, true, false, false});
  Tensor nothing = tensor<bool>({2, 3}, std::vector<bool>(6, false)), no_weight = tensor<float>({2}, {0, 0});
  for (const char *mean : {"sum_over_batch_size", "mean"}) {
    EXPECT_NEAR(reduced(mean, nullptr, nullptr), 3.5, 1e-6);
    EXPECT_NEAR(reduced(mean, &rows, nullptr), 12.0 / 6, 1e-6);
    EXPECT_NEAR(reduced(mean, &column, nullptr), 12.0 / 6, 1e-6);
    EXPECT_NEAR(reduced(mean, &steps, nullptr), 13.0 / 6, 1e-6);
    EXPECT_NEAR(reduced(mean, nullptr, &mask), 7.0 / 3, 1e-6);
    EXPECT_NEAR(reduced(mean, &rows, &mask), 6.0 / 3, 1e-6);
    EXPECT_EQ(reduced(mean, nullptr, &nothing), 0);
  }
  for (const Json &sum : {Json("sum"), Json("none"), Json(nullptr)}) {
    EXPECT_NEAR(reduced(sum, nullptr, nullptr), 21, 1e-5);
    EXPECT_NEAR(reduced(sum, &steps, &mask), 1, 1e-6);
  }
  const char *weighted = "mean_with_sample_weight";
  EXPECT_NEAR(reduced(weighted, nullptr, nullptr), 3.5, 1e-6);
  EXPECT_NEAR(reduced(weighted, &rows, nullptr), 12.0 / 6, 1e-6);
  EXPECT_NEAR(reduced(weighted, &steps, nullptr), 13.0 / 4, 1e-6);
  EXPECT_NEAR(reduced(weighted, nullptr, &mask), 7.0 / 3, 1e-6);
  EXPECT_EQ(reduced(weighted, &no_weight, nullptr), 0);
  // A NaN in a masked place is left out.
  EXPECT_NEAR(reduced("mean", nullptr, &mask, true), 7.0 / 3, 1e-6);
  EXPECT_TRUE(std::isnan(reduced("mean", nullptr, nullptr, true)));
}

TEST(Losses, IgnoredClassesCountInNoDivisor) {
  Tensor x = random({4, 3}, 1);
  auto of = [&](const Json &config, const Tensor &y) {
    auto l = loss("SparseCategoricalCrossentropy", config);
    Build1 f = [=](Emit &e, const std::vector<Id> &in) { return l->scalar(e, in[0], in[1], none, none); };
    return values(run_all_ways(one(f), {y, x}, 1e-6)[0])[0];
  };
  std::vector<double> each;
  for (int64_t r = 0; r < 4; ++r) each.push_back(-std::log(softmax({at(x, {r, 0}), at(x, {r, 1}), at(x, {r, 2})})[1]));
  const Json config{{"from_logits", true}, {"ignore_class", -1}};
  EXPECT_NEAR(of(config, tensor<int32_t>({4}, {1, -1, 1, -1})), (each[0] + each[2]) / 2, 1e-5);
  EXPECT_NEAR(of(config, tensor<float>({4, 1}, {1, -1, -1, -1})), each[0], 1e-5);
  EXPECT_EQ(of(config, tensor<int64_t>({4}, {-1, -1, -1, -1})), 0);
  EXPECT_NEAR(of({{"from_logits", true}, {"ignore_class", 255}}, tensor<uint8_t>({4}, {255, 1, 255, 255})), each[1],
              1e-5);
}

TEST(Losses, LogitsBehindProbabilitiesAreUsed) {
  Tensor x = tensor<float>({2, 2}, {60, -60, -90, 90}), y = tensor<float>({2, 2}, {0, 1, 1, 0});
  auto through = [](const Of<Loss> &l, auto f) -> Build1 {
    return [=](Emit &e, const std::vector<Id> &in) { return l->items(e, in[0], f(e, in[1])).value; };
  };
  auto softmax_of = [](Emit &e, Id v) { return ops::softmax(e, v); };
  auto sigmoid_of = [](Emit &e, Id v) { return unary(e, ops::Unary::sigmoid, v); };
  auto hidden = [](Emit &e, Id v) { return reshape(e, ops::softmax(e, v), 1, {2}); };
  // Far beyond -log(1e-7) = 16.1, which clipped probabilities can't exceed.
  check(through(loss("CategoricalCrossentropy"), softmax_of), {y, x}, tensor<float>({2}, {120, 180}));
  check(through(loss("BinaryCrossentropy"), sigmoid_of), {y, x}, tensor<float>({2}, {60, 90}));
  check(through(loss("SparseCategoricalCrossentropy"), softmax_of), {tensor<int32_t>({2}, {1, 0}), x},
        tensor<float>({2}, {120, 180}));
  check(through(loss("CategoricalCrossentropy"), hidden), {y, x}, tensor<float>({2}, {16.118095f, 16.118095f}));
}

TEST(Losses, ClippedProbabilitiesAreNotSymmetric) {
  Tensor p = tensor<float>({2, 1}, {0, 1}), y = tensor<float>({2, 1}, {1, 0});
  check(items_of(loss("BinaryCrossentropy")), {y, p}, tensor<float>({2}, {16.118095f, 15.942385f}), 1e-6);
}

TEST(Losses, ConfidentRightAnswersHaveTinyLosses) {
  Tensor x = tensor<float>({2, 1}, {40, -40}), y = tensor<float>({2, 1}, {1, 0});
  auto out = run_all_ways(one(items_of(loss("BinaryCrossentropy", {{"from_logits", true}}))), {y, x});
  for (double v : values(out[0])) EXPECT_NEAR(v / 4.2483542552915889e-18, 1, 1e-4);
}

// A power below 1 is infinitely steep at 0; a sample that is there has the gradient 0 all the same, as its neighbours
// nearly have.
TEST(Losses, GradientsOfCertainSamplesAreFinite) {
  const auto gradient = [](const Build1 &items, const Tensor &t, const Tensor &p) {
    const Tensor ones = tensor<float>({p.shape[0]}, std::vector<float>(static_cast<size_t>(p.shape[0]), 1));
    return values(run_all_ways(gradients(one(items), 2, {1}), {t, p, ones}, 1e-5)[0]);
  };
  const Tensor t = tensor<float>({6, 1}, {1, 0, 1, 0, 1, 0});
  const Tensor p = tensor<float>({6, 1}, {1, 0, 0.6f, 0.3f, 0.999f, 0.001f});
  const Tensor x = tensor<float>({6, 1}, {30, -200, 0.6f, 0.3f, 9, -9});
  for (const double gamma : {0.0, 0.01, 0.3, 0.9, 1.0, 1.5, 2.0})
    for (const bool from_logits : {false, true}) {
      SCOPED_TRACE(text("gamma ", gamma, from_logits ? " of logits" : ""));
      const auto value = [&](double y, double v) {
        const double chance = from_logits ? sigmoid(v) : v, right = y == 1 ? chance : 1 - chance;
        return -std::pow(1 - right, gamma) * std::log(right);
      };
      const Json config{{"gamma", gamma}, {"from_logits", from_logits}};
      const Tensor &of = from_logits ? x : p;
      const auto got = gradient(items_of(loss("BinaryFocalCrossentropy", config)), t, of);
      for (size_t i = 0; i < got.size(); ++i) {
        const double y = values(t)[i], v = values(of)[i], step = 1e-6;
        const double want = i < 2 ? 0 : (value(y, v + step) - value(y, v - step)) / (2 * step);
        EXPECT_NEAR(got[i], want, 1e-4 * (1 + std::abs(want))) << i;
      }
    }
  // Of the class that a softmax gives nothing at all.
  for (const double q : {0.01, 0.5, 0.99}) {
    const auto l = loss("CategoricalGeneralizedCrossEntropy", {{"q", q}});
    const Build1 items = [l](Emit &e, const std::vector<Id> &in) {
      return l->items(e, in[0], ops::softmax(e, in[1], 1)).value;
    };
    for (const double v : gradient(items, tensor<int32_t>({1}, {1}), tensor<float>({1, 2}, {300, -300})))
      EXPECT_EQ(v, 0);
  }
}

TEST(Losses, TargetsWithAndWithoutALastAxis) {
  Tensor p = random({4, 1}, 1), y = random({4}, 2);
  Tensor expected = naive({4}, [&](const std::vector<int64_t> &i) { return std::pow(at(p, {i[0], 0}) - at(y, i), 2); });
  check(items_of(loss("mse")), {y, p}, expected);
}

TEST(Losses, Refusals) {
  auto f = [](const char *name, const Json &config = Json::object()) { return items_of(loss(name, config)); };
  check_refused(f("mse"), {{4, 3}, {4, 2}}, Code::shape_mismatch, "targets have shape (4, 3), predictions (4, 2)");
  check_refused(f("CategoricalCrossentropy"), {{4}, {4, 2}}, Code::shape_mismatch, "SparseCategoricalCrossentropy");
  check_refused(f("SparseCategoricalCrossentropy"), {{4, 2}, {4, 2}}, Code::shape_mismatch, "class numbers (4,)");
  check_refused(f("SparseCategoricalCrossentropy"),
                {ops::Operand{DType::boolean, {4}}, ops::Operand{DType::f32, {4, 2}}}, Code::invalid_argument,
                "class numbers: expected integers or whole float32 numbers, got bool");
  check_refused(f("SparseCategoricalCrossentropy", {{"axis", 0}}), {{4}, {4, 2}}, Code::unsupported, "axis");
  auto refused = [](const char *name, const Json &config, const std::string &words) {
    try {
      loss(name, config);
      ADD_FAILURE() << name << ' ' << config.dump();
    } catch (const Error &e) {
      EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
    }
  };
  refused("mse", {{"reduction", "men"}}, "did you mean \"mean\"");
  refused("Huber", {{"delta", -1}}, "at least 0");
  refused("BinaryCrossentropy", {{"label_smoothing", 2}}, "at most 1");
  refused("BinaryCrossentropie", {}, "did you mean \"BinaryCrossentropy\"");
  check_refused(f("ce"), {{4, 2}, {4, 3}}, Code::shape_mismatch, "targets have shape (4, 2), predictions (4, 3)");
  try {
    metric_for("ce");
    ADD_FAILURE() << "Keras has no metric of this name";
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::unknown_kind);
  }
}

}  // namespace
}  // namespace dl4::kinds::DL4_FILE
