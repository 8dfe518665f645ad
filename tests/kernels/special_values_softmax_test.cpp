// Special values in softmax, its kin and their gradients, along rows and down columns, against plain double.
#include "backend/cpu/kernels/reduce/softmax.hpp"
#include "special_values.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

double sum(const Values &v) {
  double s = 0;
  for (const double x : v) s += x;
  return s;
}
double largest(const Values &v) {
  double m = -HUGE_VAL;
  for (const double x : v) m = std::isnan(x) || std::isnan(m) ? nan : std::max(m, x);
  return m;
}
Values exps(const Values &x, double against) {
  Values e;
  for (const double v : x) e.push_back(std::exp(v - against));
  return e;
}

TEST(SpecialValues, Softmax) {
  everywhere([](Edge<float> &x, int64_t n) {
    for (const int64_t inner : {1, 3}) {
      Axis t(x, random_floats(n, 0.01f, 0.2f, 9), inner);
      softmax(t.a, t.out, 1, n, inner);
      t.expect("softmax", [](const Values &v, const Values &) {
        Values e = exps(v, largest(v));
        const double total = sum(e);
        for (double &p : e) p /= total;
        return e;
      });
      log_softmax(t.a, t.out, 1, n, inner);
      t.expect("log_softmax", [](Values v, const Values &) {
        const double m = largest(v), log = std::log(sum(exps(v, m)));
        for (double &p : v) p = p - m - log;
        return v;
      });
    }
  });
}

TEST(SpecialValues, SoftmaxGradients) {
  everywhere([](Edge<float> &x, int64_t n) {
    for (const int64_t inner : {1, 3})
      for (const bool in_dy : {false, true}) {
        Axis t(x, random_floats(n, 0.01f, 0.2f, 9), inner);
        float *dy = in_dy ? t.a : t.b, *y = in_dy ? t.b : t.a;
        // formula(dy, y, i), with the sum of weight(dy, y) over all.
        auto expect = [&](const char *what, const auto &weight, const auto &formula) {
          t.expect(what, [&](const Values &a, const Values &b) {
            const Values &d = in_dy ? a : b, &v = in_dy ? b : a;
            double s = 0;
            for (size_t i = 0; i < d.size(); ++i) s += weight(d[i], v[i]);
            Values dx;
            for (size_t i = 0; i < d.size(); ++i) dx.push_back(formula(d[i], v[i], s));
            return dx;
          });
        };
        softmax_grad(dy, y, t.out, 1, n, inner);
        expect(
            "softmax", [](double d, double v) { return d * v; },
            [](double d, double v, double s) { return (d - s) * v; });
        log_softmax_grad(dy, y, t.out, 1, n, inner);
        expect(
            "log_softmax", [](double d, double) { return d; },
            [](double d, double v, double s) { return d - std::exp(v) * s; });
        sparsemax_grad(dy, y, t.out, 1, n, inner);
        auto support = [](const Values &v) {
          double count = 0;
          for (const double p : v) count += p != 0;
          return count;
        };
        t.expect("sparsemax", [&](const Values &a, const Values &b) {
          const Values &d = in_dy ? a : b, &v = in_dy ? b : a;
          Values dx(d.size());
          double mean = 0;  // over what has a weight; the rest is not looked at
          for (size_t i = 0; i < d.size(); ++i)
            if (v[i] != 0) mean += (d[i] + 0 * v[i]) / support(v);
          for (size_t i = 0; i < d.size(); ++i)
            if (v[i] != 0) dx[i] = d[i] + 0 * v[i] - mean;
          return dx;
        });
      }
  });
}

// What is -inf has no weight and leaves the others theirs; a NaN makes all NaN. No point is nearest to +inf.
TEST(SpecialValues, Sparsemax) {
  everywhere([](Edge<float> &x, int64_t n) {
    Edge<float> y(n), scratch(n);
    sparsemax(x, y, 1, n, 1, scratch);
    const Values in = Axis::column(x, 1, 0), out = Axis::column(y, 1, 0);
    const double peak = largest(in);
    if (std::isnan(peak)) {
      for (const double v : out) EXPECT_TRUE(std::isnan(v));
    } else if (std::isfinite(peak)) {
      EXPECT_NEAR(1, sum(out), 1e-5);
      for (size_t i = 0; i < in.size(); ++i) EXPECT_TRUE(out[i] == 0 || in[i] > peak - 1) << i;
    }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
