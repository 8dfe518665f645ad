// Optimizer steps against Keras's formulas in double precision.
#include "kernels/optimizer.hpp"

#include <algorithm>
#include <functional>

#include "targets.hpp"

namespace dl4::kernels {
namespace {

// A weight with what is remembered of it.
struct Cell {
  double w = 0, a = 0, b = 0, c = 0;
};
using Step = std::function<void(Cell &, double g)>;
using Kernel = std::function<void(float *w, const float *g, float *a, float *b, float *c, int64_t n)>;

// Three steps, over many lengths: w and the memory as the formula has them.
void check(const Kernel &kernel, const Step &step, double decay, double scale, float first_a = 0) {
  on_every_target([&] {
    for (const int64_t n : {0, 1, 3, 8, 16, 31, 70}) {
      Edge<float> w(random_floats(n, -1, 1, 1)), a(std::vector<float>(static_cast<size_t>(n), first_a));
      Edge<float> b(std::vector<float>(static_cast<size_t>(n), 0.0f)), c(b.vector());
      std::vector<Cell> cells(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i)
        cells[static_cast<size_t>(i)] = {static_cast<double>(w[i]), static_cast<double>(first_a)};
      for (uint32_t t = 0; t < 3; ++t) {
        Edge<float> g(random_floats(n, -2, 2, t + 2));
        kernel(w, g, a, b, c, n);
        for (int64_t i = 0; i < n; ++i) {
          Cell &cell = cells[static_cast<size_t>(i)];
          cell.w -= cell.w * decay;
          step(cell, static_cast<double>(g[i]) * scale);
          ASSERT_TRUE(near(cell.w, static_cast<double>(w[i]), 1e-5, 2e-6)) << i << " of " << n;
          ASSERT_TRUE(near(cell.a, static_cast<double>(a[i]), 1e-5, 2e-6));
          ASSERT_TRUE(near(cell.b, static_cast<double>(b[i]), 1e-5, 2e-6));
          ASSERT_TRUE(near(cell.c, static_cast<double>(c[i]), 1e-5, 2e-6));
        }
      }
    }
  });
}

TEST(Optimizer, Sgd) {
  for (const double momentum : {0.0, 0.9})
    for (const bool nesterov : {false, true}) {
      const Sgd o{.lr = 0.1, .momentum = momentum, .decay = 0.01, .grad_scale = 0.5, .nesterov = nesterov};
      check([&](float *w, const float *g, float *a, float *, float *,
                int64_t n) { sgd(o, w, g, momentum > 0 ? a : nullptr, n); },
            [&](Cell &c, double g) {
              if (momentum == 0) {
                c.w -= 0.1 * g;
                return;
              }
              c.a = momentum * c.a - 0.1 * g;
              c.w += nesterov ? momentum * c.a - 0.1 * g : c.a;
            },
            0.001, 0.5);
    }
}

TEST(Optimizer, Adam) {
  for (const bool amsgrad : {false, true}) {
    Adam o{.lr = 0.05, .decay = 0.02, .grad_scale = 2, .t = 0};
    int64_t t = 0;
    check(
        [&](float *w, const float *g, float *a, float *b, float *c, int64_t n) {
          t = o.t = t % 3 + 1;
          adam(o, w, g, a, b, amsgrad ? c : nullptr, n);
        },
        [&](Cell &c, double g) {
          c.a += (g - c.a) * 0.1;
          c.b += (g * g - c.b) * 0.001;
          if (amsgrad) c.c = std::max(c.c, c.b);
          const double alpha = 0.05 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
          c.w -= alpha * c.a / (std::sqrt(amsgrad ? c.c : c.b) + 1e-7);
        },
        0.001, 2);
  }
}

TEST(Optimizer, Nadam) {
  Adam o{.lr = 0.05, .t = 0};
  int64_t t = 0;
  float u = 1;
  double product = 1;
  check(
      [&](float *w, const float *g, float *a, float *b, float *, int64_t n) {
        t = o.t = t % 3 + 1;
        if (t == 1) u = 1, product = 1;
        u = nadam(o, u, w, g, a, b, n);
        product *= 0.9 * (1 - 0.5 * std::pow(0.96, t));
      },
      [&](Cell &c, double g) {
        const double now = 0.9 * (1 - 0.5 * std::pow(0.96, t)), next = 0.9 * (1 - 0.5 * std::pow(0.96, t + 1));
        c.a += (g - c.a) * 0.1;
        c.b += (g * g - c.b) * 0.001;
        const double m = next * c.a / (1 - product * next) + (1 - now) * g / (1 - product);
        c.w -= 0.05 * m / (std::sqrt(c.b / (1 - std::pow(0.999, t))) + 1e-7);
      },
      0, 1);
}

TEST(Optimizer, AdamaxAndLion) {
  Adam o{.lr = 0.05, .t = 0};
  int64_t t = 0;
  check(
      [&](float *w, const float *g, float *a, float *b, float *, int64_t n) {
        t = o.t = t % 3 + 1;
        adamax(o, w, g, a, b, n);
      },
      [&](Cell &c, double g) {
        c.a += (g - c.a) * 0.1;
        c.b = std::max(0.999 * c.b, std::fabs(g));
        c.w -= 0.05 * c.a / ((1 - std::pow(0.9, t)) * (c.b + 1e-7));
      },
      0, 1);
  check([&](float *w, const float *g, float *a, float *, float *, int64_t n) { lion(o, w, g, a, n); },
        [&](Cell &c, double g) {
          const double s = 0.9 * c.a + 0.1 * g;
          c.w -= 0.05 * ((s > 0) - (s < 0));
          c.a = 0.999 * c.a + 0.001 * g;
        },
        0, 1);
}

TEST(Optimizer, RmsProp) {
  for (const double momentum : {0.0, 0.8})
    for (const bool centered : {false, true}) {
      const RmsProp o{.lr = 0.05, .momentum = momentum};
      check([&](float *w, const float *g, float *a, float *b, float *c,
                int64_t n) { rmsprop(o, w, g, a, centered ? b : nullptr, momentum > 0 ? c : nullptr, n); },
            [&](Cell &c, double g) {
              c.a = 0.9 * c.a + 0.1 * g * g;
              if (centered) c.b = 0.9 * c.b + 0.1 * g;
              double step = 0.05 * g / std::sqrt(c.a - c.b * c.b + 1e-7);
              if (momentum > 0) step = c.c = momentum * c.c + step;
              c.w -= step;
            },
            0, 1, 0.5f);
    }
}

TEST(Optimizer, AdagradAndAdadelta) {
  const RmsProp o{.lr = 0.05, .rho = 0.95};
  check([&](float *w, const float *g, float *a, float *, float *, int64_t n) { adagrad(o, w, g, a, n); },
        [](Cell &c, double g) {
          c.a += g * g;
          c.w -= 0.05 * g / std::sqrt(c.a + 1e-7);
        },
        0, 1, 0.1f);
  check([&](float *w, const float *g, float *a, float *b, float *, int64_t n) { adadelta(o, w, g, a, b, n); },
        [](Cell &c, double g) {
          c.a = 0.95 * c.a + 0.05 * g * g;
          const double d = std::sqrt(c.b + 1e-7) * g / std::sqrt(c.a + 1e-7);
          c.b = 0.95 * c.b + 0.05 * d * d;
          c.w -= 0.05 * d;
        },
        0, 1);
}

TEST(Optimizer, NanStays) {
  on_every_target([] {
    std::vector<float> x(20, nan), y(20, 1.0f);
    clip_by_value(1, x.data(), y.data(), 20);
    for (float v : y) EXPECT_TRUE(std::isnan(v));
    std::vector<float> w(20), m(20), s(20), hat(20);
    adam({}, w.data(), x.data(), m.data(), s.data(), hat.data(), 20);
    for (float v : w) EXPECT_TRUE(std::isnan(v));
    std::fill(w.begin(), w.end(), 0.0f);
    lion({}, w.data(), x.data(), s.data(), 20);
    for (float v : w) EXPECT_TRUE(std::isnan(v));
    const float factor = 0;
    scale(&factor, x.data(), y.data(), 20);
    for (float v : y) EXPECT_TRUE(std::isnan(v));
  });
}

}  // namespace
}  // namespace dl4::kernels
