// What is done to weights in training: optimizers, clipping, regularizers, constraints.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "harness/gradient_check.hpp"
#include "kinds/optimizer.hpp"
#include "kinds/weight.hpp"

namespace dl4::kinds::DL4_FILE {
namespace {

using namespace test;
using ops::none;

template <class C>
Of<C> make(const char *name, const Json &config = Json::object()) {
  return parse<C>({{"class_name", name}, {"config", config}});
}

const std::vector<double> start{0.5, -1, 2, 0};
double gradient(size_t i, int t) { return (static_cast<double>(i) - 1.5) * 0.3 + 0.1 * t; }

// Slots of a block of four.
struct Kept final : Slots {
  Kept(Emit &e, std::vector<Tensor> &states) : e(e), states(states) {}
  Id made(const std::string &name, const Shape &shape, float v) {
    states.push_back(tensor<float>(shape, std::vector<float>(static_cast<size_t>(shape.elements()), v)));
    return e.state(name, DType::f32, shape);
  }
  Id block(const std::string &name, float v) override { return made(name, {4}, v); }
  Id number(const std::string &name, float v) override { return made(name, {}, v); }
  Id of(const Part &, const std::string &name, const Shape &shape) override { return made(name, shape, 0); }
  Emit &e;
  std::vector<Tensor> &states;
};

// The weights after each of three updates.
std::vector<std::vector<double>> updates(const Of<Optimizer> &o, double learning_rate) {
  Program p;
  Emit e(p);
  Id w = e.state("w", DType::f32, {4}), g = e.input("g", DType::f32, {4}), t = e.input("t", DType::i64, {});
  std::vector<Tensor> states{tensor<float>({4}, {start.begin(), start.end()})};
  Kept kept(e, states);
  const std::vector<Part> parts{{"w", {4}, 0, true}};
  Update u{e, w, g, e.scalar(static_cast<float>(learning_rate)), t, parts, kept};
  e.write(w, o->update(u));
  std::vector<std::vector<double>> all;
  for (int step = 1; step <= 3; ++step) {
    Tensor now = naive({4}, [&](const std::vector<int64_t> &i) { return gradient(static_cast<size_t>(i[0]), step); });
    Result r = evaluate(p, {now, tensor<int64_t>({}, {step})}, states);
    for (size_t k = 0; k < p.writes.size(); ++k)
      for (size_t s = 0; s < p.states.size(); ++s)
        if (p.states[s] == p.writes[k].state) states[s] = r.written[k];
    all.push_back(values(states[0]));
  }
  return all;
}

// One update of one weight; `slot` are its numbers.
using Rule = std::function<double(double w, double g, int t, std::map<char, double> &slot)>;

void expect_rule(const char *name, const Json &config, double learning_rate, const Rule &rule) {
  auto got = updates(make<Optimizer>(name, config), learning_rate);
  for (size_t i = 0; i < start.size(); ++i) {
    std::map<char, double> slot;
    double w = start[i];
    for (int t = 1; t <= 3; ++t) {
      w = rule(w, gradient(i, t), t, slot);
      EXPECT_NEAR(got[static_cast<size_t>(t - 1)][i], w, 2e-6) << name << ' ' << config.dump() << " step " << t;
    }
  }
}

TEST(Optimizers, Rules) {
  const double lr = 0.1;
  expect_rule("SGD", {}, lr, [=](double w, double g, int, auto &) { return w - lr * g; });
  expect_rule("SGD", {{"momentum", 0.9}}, lr,
              [=](double w, double g, int, auto &s) { return w + (s['m'] = 0.9 * s['m'] - lr * g); });
  expect_rule("SGD", {{"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 0.2}}, lr,
              [=](double w, double g, int, auto &s) {
                s['m'] = 0.9 * s['m'] - lr * g;
                return w - w * 0.2 * lr + 0.9 * s['m'] - lr * g;
              });
  for (bool amsgrad : {false, true})
    expect_rule("Adam", {{"amsgrad", amsgrad}, {"beta_2", 0.9}, {"weight_decay", 0.1}}, lr,
                [=](double w, double g, int t, auto &s) {
                  s['m'] += (g - s['m']) * 0.1;
                  s['v'] += (g * g - s['v']) * 0.1;
                  s['h'] = std::max(s['h'], s['v']);
                  double a = lr * std::sqrt(1 - std::pow(0.9, t)) / (1 - std::pow(0.9, t));
                  return w - w * 0.1 * lr - a * s['m'] / (std::sqrt(amsgrad ? s['h'] : s['v']) + 1e-7);
                });
}

TEST(Optimizers, Clipping) {
  Tensor a = tensor<float>({2}, {3, 4}), b = tensor<float>({1}, {12}), zero = tensor<float>({2}, {0, 0});
  auto clipped = [](const Json &config, const std::vector<Tensor> &g) {
    auto o = make<Optimizer>("SGD", config);
    std::vector<double> all;
    for (const Tensor &t : run_all_ways([o](Emit &e, const std::vector<Id> &in) { return clip(e, *o, in); }, g, 1e-6))
      for (double v : values(t)) all.push_back(v);
    return all;
  };
  auto near = [](const std::vector<double> &got, const std::vector<double> &expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
  };
  near(clipped({}, {a, b}), {3, 4, 12});
  near(clipped({{"clipnorm", 1}}, {a, b}), {0.6, 0.8, 1});
  near(clipped({{"clipnorm", 10}}, {a, zero}), {3, 4, 0, 0});
  near(clipped({{"clipvalue", 3.5}}, {a, b}), {3, 3.5, 3.5});
  near(clipped({{"global_clipnorm", 6.5}}, {a, b}), {1.5, 2, 6});
  near(clipped({{"global_clipnorm", 26}}, {a, b}), {3, 4, 12});
  near(clipped({{"global_clipnorm", 1}}, {zero, zero}), {0, 0, 0, 0});
  // One bad element reaches every gradient under the global norm, and its own under the others.
  for (float bad : {NAN, INFINITY}) {
    Tensor broken = tensor<float>({1}, {bad});
    for (double v : clipped({{"global_clipnorm", 1}}, {a, broken})) EXPECT_TRUE(std::isnan(v));
    auto own = clipped({{"clipnorm", 1}}, {a, broken});
    EXPECT_NEAR(own[0], 0.6, 1e-6);
    EXPECT_TRUE(std::isnan(own[2]));
  }
}

TEST(Optimizers, Refusals) {
  auto refused = [](const char *name, const Json &config, Code code, const std::string &words) {
    try {
      make<Optimizer>(name, config);
      ADD_FAILURE() << config.dump();
    } catch (const Error &e) {
      EXPECT_EQ(e.code, code) << e.message;
      EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
    }
  };
  refused("SGD", {{"clipnorm", 1}, {"clipvalue", 1}}, Code::invalid_argument, "only one of");
  refused("SGD", {{"use_ema", true}, {"ema_momentum", 1.5}}, Code::invalid_argument, "at most 1");
  refused("Adam", {{"gradient_accumulation_steps", 1}}, Code::invalid_argument, "expected at least 2, got 1");
  refused("Adam", {{"loss_scale_factor", 0}}, Code::invalid_argument, "expected another number than 0");
  refused("AdamW", {{"weight_decay", nullptr}}, Code::invalid_argument, "expected a number, got null");
  refused("Nadam", {{"beta_2", 1}}, Code::invalid_argument, "expected below 1");
  refused("Lion", {{"beta_1", 0}}, Code::invalid_argument, "expected above 0");
  refused("Ftrl", {{"learning_rate_power", 0.5}}, Code::invalid_argument, "at most 0");
  auto schedule = [](const char *name, const Json &config) {
    return Json{{"learning_rate", {{"class_name", name}, {"config", config}}}};
  };
  refused("SGD", schedule("PiecewiseConstantDecay", {{"boundaries", {5, 3}}, {"values", {1, 2, 3}}}),
          Code::invalid_argument, "ascending, got 3");
  refused("SGD", schedule("PiecewiseConstantDecay", {{"boundaries", {5}}, {"values", {1, 2, 3}}}),
          Code::invalid_argument, "got 3 and 1");
  refused("SGD", schedule("CosineDecay", {{"initial_learning_rate", 1}, {"decay_steps", 0}}), Code::invalid_argument,
          "expected above 0");
  refused("SGD", schedule("CosineDecayRestarts", {{"initial_learning_rate", 1}, {"first_decay_steps", -1}}),
          Code::invalid_argument, "expected above 0");
  refused("SGD", schedule("NoSuchDecay", Json::object()), Code::unknown_kind, "unknown schedule");
  refused("SGD", {{"learning_rate", "fast"}}, Code::invalid_argument, "expected a number or a schedule");
  refused("Adam", {{"beta_1", 1.0}}, Code::invalid_argument, "\"beta_1\"");
  refused("Adam", {{"lr", 1.0}}, Code::invalid_argument, "unknown attribute \"lr\"");
  refused("SGD", {{"momentum", 1.5}}, Code::invalid_argument, "at most 1");
  refused("SGD", {{"learning_rate", "big"}}, Code::invalid_argument, "a number");
  auto adam = make<Optimizer>("adam");
  EXPECT_EQ(adam->learning_rate.value, 0.001);
  EXPECT_EQ(make<Optimizer>("Adam", adam->config())->config(), adam->config());
}

TEST(Regularizers, Penalties) {
  Tensor w = tensor<float>({2, 2}, {1, -2, 3, 0.5f});
  auto penalty = [](const char *name, const Json &config = Json::object()) -> Build1 {
    auto r = make<Regularizer>(name, config);
    return [r](Emit &e, const std::vector<Id> &in) { return r->penalty(e, in[0]); };
  };
  auto number = [](double v) { return tensor<float>({}, {static_cast<float>(v)}); };
  check(penalty("L1"), {w}, number(0.065), 1e-6, 1e-6);
  check(penalty("l2", {{"l2", 0.1}}), {w}, number(1.425), 1e-6, 1e-6);
  check(penalty("l1_l2", {{"l1", 0.1}, {"l2", 0.2}}), {w}, number(0.65 + 2.85), 1e-6, 1e-6);
  check(penalty("L1L2"), {w}, number(0));
  double rows = std::abs(3 - 1) / std::sqrt(5 * 9.25), columns = std::abs(-2 * 1 + 3 * 0.5) / std::sqrt(10 * 4.25);
  // Weights have no free dims, and this one counts on it.
  auto orthogonal = [&](const Json &config) {
    return values(evaluate(program_of(one(penalty("OrthogonalRegularizer", config)), {w}), {w}).outputs[0])[0];
  };
  EXPECT_NEAR(orthogonal({{"factor", 2}}), 2 * rows, 1e-5);
  EXPECT_NEAR(orthogonal({{"factor", 2}, {"mode", "columns"}}), 2 * columns, 1e-5);
  for (const char *name : {"L1", "L2"}) check_gradient(penalty(name, {}), {w});
  check_refused(penalty("OrthogonalRegularizer"), {{2, 2, 2}}, Code::shape_mismatch, "rank 2");
  EXPECT_THROW(make<Regularizer>("L2", {{"l2", -1}}), Error);
}

TEST(Constraints, Weights) {
  Tensor w = tensor<float>({2, 2}, {3, -0.3f, 4, 0.4f});
  auto kept = [](const char *name, const Json &config = Json::object()) -> Build1 {
    auto c = make<Constraint>(name, config);
    return [c](Emit &e, const std::vector<Id> &in) { return c->apply(e, in[0]); };
  };
  check(kept("non_neg"), {w}, tensor<float>({2, 2}, {3, 0, 4, 0.4f}));
  check(kept("MaxNorm"), {w}, tensor<float>({2, 2}, {1.2f, -0.3f, 1.6f, 0.4f}), 1e-6, 1e-6);
  check(kept("max_norm", {{"max_value", 1}, {"axis", {0, 1}}}), {w},
        tensor<float>({2, 2}, {0.597022f, -0.0597022f, 0.796030f, 0.0796030f}), 1e-5, 1e-6);
  check(kept("UnitNorm"), {w}, tensor<float>({2, 2}, {0.6f, -0.6f, 0.8f, 0.8f}), 1e-6, 1e-6);
  check(kept("MinMaxNorm", {{"min_value", 1}, {"max_value", 2}, {"rate", 0.5}}), {w},
        tensor<float>({2, 2}, {2.1f, -0.45f, 2.8f, 0.6f}), 1e-6, 1e-6);
  EXPECT_THROW(make<Constraint>("MinMaxNorm", {{"rate", 2}}), Error);
}

}  // namespace
}  // namespace dl4::kinds::DL4_FILE
