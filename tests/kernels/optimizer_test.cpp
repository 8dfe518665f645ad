// Optimizer steps against Keras's formulas in double precision.
#include "kernels/elementwise/optimizer.hpp"

#include <algorithm>
#include <functional>

#include "special_values.hpp"

namespace dl4::kernels {
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
      check([&](float *w, const float *g, float *a, float *, float *,
                int64_t n) { sgd(o, 0.1f, w, g, momentum > 0 ? a : nullptr, n); },
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
    const Adam o{.weight_decay = 0.02};
    int64_t t = 0;
    check(
        [&](float *w, const float *g, float *a, float *b, float *c, int64_t n) {
          t = t % 3 + 1;
          adam(o, 0.05f, t, w, g, a, b, amsgrad ? c : nullptr, n);
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

}  // namespace
}  // namespace dl4::kernels
