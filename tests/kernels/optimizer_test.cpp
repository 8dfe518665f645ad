// Optimizer steps against Keras's formulas in double precision.
#include "backend/cpu/kernels/elementwise/optimizer.hpp"

#include <algorithm>
#include <functional>

#include "special_values.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

// NaN if either is.
double largest(double a, double b) { return std::isnan(a) || a > b ? a : b; }

// A weight with what is remembered of it.
struct Cell {
  double w = 0, a = 0, b = 0, c = 0;
};
using Step = std::function<void(Cell &, double g)>;
using Kernel = std::function<void(float *w, const float *g, float *a, float *b, float *c, int64_t n)>;

// Three steps, over many lengths: w and the memory as the formula has them; with special values in each of them and in
// the gradient too.
void check(const Kernel &kernel, const Step &step, double decay) {
  auto steps = [&](Edge<float>(&x)[5]) {
    auto &[w, a, b, c, g] = x;
    const int64_t n = w.size();
    std::vector<Cell> cells;
    for (int64_t i = 0; i < n; ++i) cells.push_back({value(w[i]), value(a[i]), value(b[i]), value(c[i])});
    for (int t = 0; t < 3; ++t) {
      kernel(w, g, a, b, c, n);
      for (int64_t i = 0; i < n; ++i) {
        Cell &cell = cells[static_cast<size_t>(i)];
        if (decay != 0) cell.w -= cell.w * decay;
        step(cell, value(g[i]));
        ASSERT_TRUE(near(cell.w, value(w[i]), 1e-5, 2e-6)) << i << " of " << n;
        ASSERT_TRUE(near(cell.a, value(a[i]), 1e-5, 2e-6)) << i << " of " << n;
        ASSERT_TRUE(near(cell.b, value(b[i]), 1e-5, 2e-6)) << i << " of " << n;
        ASSERT_TRUE(near(cell.c, value(c[i]), 1e-5, 2e-6)) << i << " of " << n;
        g[i] = 1 - 1.25f * g[i];
      }
    }
  };
  on_every_target([&] {
    for (const int64_t n : {0, 1, 3, 8, 16, 17, 70}) {
      Edge<float> x[] = {Edge<float>(n), Edge<float>(n), Edge<float>(n), Edge<float>(n), Edge<float>(n)};
      const auto w = random_floats(n, -1, 1, 1), g = random_floats(n, -2, 2, 2);
      auto three_steps = [&](int special = 0, int64_t at = -1, float v = 0) {
        std::copy(w.begin(), w.end(), x[0].data());
        std::copy(g.begin(), g.end(), x[4].data());
        for (int i = 1; i < 4; ++i) std::fill_n(x[i].data(), n, 0.0f);
        if (at >= 0) x[special][at] = v;
        SCOPED_TRACE(std::to_string(v) + " in array " + std::to_string(special) + " at " + std::to_string(at));
        steps(x);
      };
      three_steps();
      for (int special = 0; special < 5 && n % 2 && n < 70; ++special)
        for (int64_t at = 0; at < n; ++at)
          for (const float v : specials)
            if (!::testing::Test::HasFailure()) three_steps(special, at, v);
    }
  });
}

TEST(Optimizer, Sgd) {
  for (const double momentum : {0.0, 0.9})
    for (const bool nesterov : {false, true}) {
      const Sgd o{.momentum = momentum, .weight_decay = 0.01, .nesterov = nesterov};
      check([&](float *w, const float *g, float *a, float *, float *, int64_t n) { update(o, {0.1f}, w, g, &a, n); },
            [&](Cell &c, double g) {
              if (momentum == 0) {
                c.w -= 0.1 * g;
                return;
              }
              c.a = momentum * c.a - 0.1 * g;
              c.w += nesterov ? momentum * c.a - 0.1 * g : c.a;
            },
            0.001);
    }
}

TEST(Optimizer, Adam) {
  for (const bool amsgrad : {false, true}) {
    const Adam o{.weight_decay = 0.02, .amsgrad = amsgrad};
    int64_t t = 0;
    check(
        [&](float *w, const float *g, float *a, float *b, float *c, int64_t n) {
          t = t % 3 + 1;
          float *const slots[] = {a, b, c};
          update(o, {0.05f, t}, w, g, slots, n);
        },
        [&](Cell &c, double g) {
          c.a += (g - c.a) * 0.1;
          c.b += (g * g - c.b) * 0.001;
          if (amsgrad) c.c = largest(c.c, c.b);
          const double alpha = 0.05 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
          c.w -= alpha * c.a / (std::sqrt(amsgrad ? c.c : c.b) + 1e-7);
        },
        0.001);
  }
}

// By a rule, three steps.
template <class Rule>
void check_rule(const Rule &o, const Step &step, float number = 0) {
  check(
      [&](float *w, const float *g, float *a, float *b, float *c, int64_t n) {
        float *const slots[] = {a, b, c};
        update(o, {0.1f, 2, number}, w, g, slots, n);
      },
      step, 0.1 * o.weight_decay);
}

TEST(Optimizer, RmsProp) {
  for (const double momentum : {0.0, 0.9})
    for (const bool centered : {false, true})
      check_rule(RmsProp{.momentum = momentum, .epsilon = 0.01, .weight_decay = 0.02, .centered = centered},
                 [&](Cell &c, double g) {
                   c.a = 0.9 * c.a + 0.1 * g * g;
                   double &m = c.b, &mean = momentum > 0 ? c.c : c.b;
                   if (centered) mean = 0.9 * mean + 0.1 * g;
                   double by = 0.1 * g / std::sqrt(c.a - (centered ? mean * mean : 0) + 0.01);
                   if (momentum > 0) by = m = momentum * m + by;
                   c.w -= by;
                 });
}

TEST(Optimizer, Adagrad) {
  check_rule(Adagrad{.epsilon = 0.01, .weight_decay = 0.02}, [](Cell &c, double g) {
    c.a += g * g;
    c.w -= 0.1 * g / std::sqrt(c.a + 0.01);
  });
}

TEST(Optimizer, Adadelta) {
  check_rule(Adadelta{.epsilon = 0.01, .weight_decay = 0.02}, [](Cell &c, double g) {
    c.a = 0.95 * c.a + 0.05 * g * g;
    const double step = g * std::sqrt(c.b + 0.01) / std::sqrt(c.a + 0.01);
    c.b = 0.95 * c.b + 0.05 * step * step;
    c.w -= 0.1 * step;
  });
}

TEST(Optimizer, Adamax) {
  check_rule(Adamax{.epsilon = 0.01, .weight_decay = 0.02}, [](Cell &c, double g) {
    c.a += (g - c.a) * 0.1;
    c.b = largest(0.999 * c.b, std::fabs(g));
    c.w -= 0.1 * c.a / ((1 - 0.81) * (c.b + 0.01));
  });
}

TEST(Optimizer, Nadam) {
  auto mu = [](int t) { return 0.9 * (1 - 0.5 * std::pow(0.96, t)); };
  check_rule(
      Nadam{.epsilon = 0.01, .weight_decay = 0.02},
      [&](Cell &c, double g) {
        c.a += (g - c.a) * 0.1;
        c.b += (g * g - c.b) * 0.001;
        const double m = mu(3) * c.a / (1 - 0.25 * mu(3)) + (1 - mu(2)) * g / (1 - 0.25);
        c.w -= 0.1 * m / (std::sqrt(c.b / (1 - 0.999 * 0.999)) + 0.01);
      },
      0.25f);
}

TEST(Optimizer, Lion) {
  check_rule(Lion{.weight_decay = 0.02}, [](Cell &c, double g) {
    const double to = 0.9 * c.a + 0.1 * g;
    c.w -= 0.1 * (to > 0 ? 1 : to < 0 ? -1 : to);
    c.a = 0.99 * c.a + 0.01 * g;
  });
}

TEST(Optimizer, Ftrl) {
  for (const double power : {-0.5, -0.7})
    check_rule(Ftrl{.power = power, .l1 = 0.1, .l2 = 0.2, .l2_shrinkage = 0.3, .beta = 0.4, .weight_decay = 0.02},
               [&](Cell &c, double g) {
                 const double before = std::pow(c.a, -power);
                 c.a += g * g;
                 const double after = std::pow(c.a, -power);
                 c.b += g + 0.6 * c.w - (after - before) / 0.1 * c.w;
                 const double clipped = std::isnan(c.b) ? c.b : std::clamp(c.b, -0.1, 0.1);
                 c.w = (clipped - c.b) / (after / 0.1 + 2 * (0.2 + 0.4 / 0.2));
               });
}

TEST(Optimizer, Average) {
  check_rule(Average{}, [](Cell &c, double g) { c.w += (g - c.w) * 0.1; });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
