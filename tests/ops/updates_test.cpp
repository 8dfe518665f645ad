// sgd and adam against Keras's formulas in double, step by step.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using ops::Adam, ops::Sgd;
using Index = std::vector<int64_t>;

TEST(Sgd, Steps) {
  for (double momentum : {0.0, 0.9})
    for (bool nesterov : {false, true})
      for (double decay : {0.0, 0.01}) {
        Sgd how{momentum, decay, nesterov};
        Tensor w = random({333}, 1), g = random({333}, 2), m = random({333}, 3), lr = tensor<float>({}, {0.1f});
        auto build = [=](Emit &e, const std::vector<Id> &x) {
          std::vector<Id> slots;
          if (how.momentum != 0) slots.push_back(x[2]);
          return update(e, how, {.w = x[0], .g = x[1], .lr = x[3], .slots = slots});
        };
        auto moment = [&](const Index &i) { return momentum * at(m, i) - 0.1 * at(g, i); };
        std::vector<Tensor> expected{naive(w.shape, [&](const Index &i) {
          double v = at(w, i) * (1 - 0.1 * decay);
          if (momentum == 0) return v - 0.1 * at(g, i);
          return v + (nesterov ? momentum * moment(i) - 0.1 * at(g, i) : moment(i));
        })};
        if (momentum != 0) expected.push_back(naive(w.shape, moment));
        check(build, {w, g, m, lr}, expected, 1e-6);
      }
}

TEST(Adam, Steps) {
  for (bool largest : {false, true})
    for (int64_t t : {1, 2, 1000})
      for (double decay : {0.0, 0.004}) {
        Adam how{.weight_decay = decay, .amsgrad = largest};
        std::vector<Tensor> x{random({333}, 1),        random({333}, 2),       random({333}, 3),
                              random({333}, 4, 0, 1),  random({333}, 5, 0, 1), tensor<float>({}, {0.01f}),
                              tensor<int64_t>({}, {t})};
        auto build = [=](Emit &e, const std::vector<Id> &v) {
          std::vector<Id> slots{v[2], v[3]};
          if (largest) slots.push_back(v[4]);
          return update(e, how, {.w = v[0], .g = v[1], .lr = v[5], .t = v[6], .slots = slots});
        };
        double b1 = 0.9, b2 = 0.999;
        double a = 0.01 * std::sqrt(1 - std::pow(0.999f, t)) / (1 - std::pow(0.9f, t));
        auto m = [&](const Index &i) { return b1 * at(x[2], i) + (1 - b1) * at(x[1], i); };
        auto v = [&](const Index &i) { return b2 * at(x[3], i) + (1 - b2) * at(x[1], i) * at(x[1], i); };
        auto vhat = [&](const Index &i) { return largest ? std::max(at(x[4], i), v(i)) : v(i); };
        std::vector<Tensor> expected{naive({333},
                                           [&](const Index &i) {
                                             return at(x[0], i) * (1 - 0.01 * decay) -
                                                    a * m(i) / (std::sqrt(vhat(i)) + 1e-7);
                                           }),
                                     naive({333}, m), naive({333}, v)};
        if (largest) expected.push_back(naive({333}, vhat));
        check(build, x, expected, 1e-6);
      }
}

// 1 - beta is rounded once: 1 - 0.999f is 1.3e-5 lower than 0.001.
TEST(Adam, RoundsOneMinusBetaOnly) {
  for (double beta_2 : {0.999, 0.9999}) {
    Tensor zero = tensor<float>({1}, {0}), one = tensor<float>({1}, {1});
    Program p = program_of(
        [=](Emit &e, const std::vector<Id> &x) {
          return update(e, Adam{.beta_2 = beta_2},
                        {.w = x[0], .g = x[1], .lr = x[2], .t = x[3], .slots = {x[0], x[0]}});
        },
        {zero, one, tensor<float>({}, {1}), tensor<int64_t>({}, {1})});
    auto r = evaluate(p, {zero, one, tensor<float>({}, {1}), tensor<int64_t>({}, {1})});
    EXPECT_EQ(*r.outputs[1].as<float>(), static_cast<float>(1 - 0.9));
    EXPECT_EQ(*r.outputs[2].as<float>(), static_cast<float>(1 - beta_2));
  }
}

// Ranges that are left alone, or not decayed, within whatever slices.
TEST(Updates, Exceptions) {
  const int64_t n = 5000;
  Tensor w = random({n}, 1), g = random({n}, 2), lr = tensor<float>({}, {0.1f});
  const std::vector<UpdateExcept> except{{3, 9, true}, {100, 4000, false}, {4500, 5000, true}};
  auto build = [=](Emit &e, const std::vector<Id> &x) {
    return update(e, Sgd{.weight_decay = 0.5}, {.w = x[0], .g = x[1], .lr = x[2], .except = except});
  };
  check(build, {w, g, lr},
        {naive(w.shape,
               [&](const Index &i) {
                 double decay = 0.5;
                 for (const auto &x : except)
                   if (i[0] >= x.begin && i[0] < x.end) {
                     if (!x.moves) return static_cast<double>(at(w, i));
                     decay = 0;
                   }
                 return at(w, i) * (1 - 0.1 * decay) - 0.1 * at(g, i);
               })},
        1e-6);
}

TEST(Updates, Refuse) {
  auto plain = [](Emit &e, const auto &x) { return update(e, Sgd{}, {.w = x[0], .g = x[1], .lr = x[2]})[0]; };
  check_refused(plain, {Shape{3}, Shape{4}, Shape{}}, Code::shape_mismatch,
                "sgd expects equal shapes, got (3,) and (4,)");
  check_refused(
      [](Emit &e, const auto &x) { return update(e, Sgd{.momentum = 0.9}, {.w = x[0], .g = x[1], .lr = x[2]})[0]; },
      {Shape{3}, Shape{3}, Shape{}}, Code::invalid_argument, "sgd keeps 1 values beside each weight, got 0");
  check_refused(plain, {Shape{3}, Shape{3}, Shape{1}}, Code::shape_mismatch,
                "the learning rate of sgd is one number, got (1,)");
  check_refused(
      [](Emit &e, const auto &x) {
        return update(e, Adam{}, {.w = x[0], .g = x[0], .lr = x[1], .t = x[1], .slots = {x[0], x[0]}})[0];
      },
      {Shape{3}, Shape{}}, Code::invalid_argument, "the step of adam expects int64, got float32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
