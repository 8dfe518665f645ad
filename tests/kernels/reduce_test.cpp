// Reductions and softmaxes against double precision, over sizes, axes and instruction sets.
#include "backend/cpu/kernels/reduce/reduce.hpp"

#include <algorithm>

#include "backend/cpu/kernels/reduce/softmax.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

struct View {
  int64_t outer, axis, inner;
  int64_t size() const { return outer * axis * inner; }
  // f(values along the axis, index of the result) for each result.
  template <class F>
  void each(const float *x, const F &f) const {
    std::vector<double> v(static_cast<size_t>(axis));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t a = 0; a < axis; ++a)
          v[static_cast<size_t>(a)] = static_cast<double>(x[(o * axis + a) * inner + i]);
        f(v, o * inner + i);
      }
  }
};

const std::vector<View> &views() {
  static const std::vector<View> all = [] {
    std::vector<View> v;
    for (int64_t n = 0; n <= 70; ++n) v.push_back({2, n, 1});
    for (int64_t n = 1; n <= 70; ++n) v.push_back({2, 3, n});
    v.insert(v.end(), {{1, 5000, 1}, {1, 1000, 5}, {3, 129, 37}, {1, 1, 1}, {0, 3, 2}, {2, 0, 3}, {1, 300, 130}});
    return v;
  }();
  return all;
}

double fold(Reduce f, const std::vector<double> &v) {
  double s = f == Reduce::prod ? 1 : f == Reduce::max ? -HUGE_VAL : f == Reduce::min ? HUGE_VAL : 0;
  for (double x : v) switch (f) {
      case Reduce::max:
        s = std::isnan(s) || std::isnan(x) ? nan : std::max(s, x);
        break;
      case Reduce::min:
        s = std::isnan(s) || std::isnan(x) ? nan : std::min(s, x);
        break;
      case Reduce::prod:
        s *= x;
        break;
      case Reduce::sum_squares:
        s += x * x;
        break;
      case Reduce::sum_abs:
        s += std::fabs(x);
        break;
      default:
        s += x;
    }
  return f == Reduce::mean ? s / static_cast<double>(v.size()) : s;
}

TEST(Reduce, EveryViewMatchesDouble) {
  on_every_target([] {
    for (const Reduce f :
         {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min, Reduce::prod, Reduce::sum_squares, Reduce::sum_abs})
      for (const View &v : views()) {
        Edge<float> x(random_floats(v.size(), -1.5f, 1.5f)), y(v.outer * v.inner), part(v.outer * v.inner);
        reduce(f, x, y, v.outer, v.axis, v.inner);
        v.each(x, [&](const std::vector<double> &values, int64_t at) {
          const double scale = 1e-6 * std::sqrt(static_cast<double>(v.axis) + 1);
          ASSERT_TRUE(near(fold(f, values), static_cast<double>(y[at]), 2e-6, scale))
              << v.outer << " " << v.axis << " " << v.inner;
        });
        for (int64_t i = 0; i < v.inner; i += 7)
          reduce(f, x + i, part + i, v.outer, v.axis, std::min<int64_t>(7, v.inner - i), v.inner);
        for (int64_t i = 0; v.inner > 1 && i < part.size(); ++i)
          ASSERT_TRUE(near(static_cast<double>(y[i]), static_cast<double>(part[i])));
      }
  });
}

TEST(Reduce, NanIsTheExtreme) {
  on_every_target([] {
    for (int64_t n : {1, 5, 16, 37})
      for (int64_t at = 0; at < n; ++at)
        for (int64_t inner : {1, 3}) {
          std::vector<float> v = random_floats(n * inner);
          v[static_cast<size_t>(at * inner)] = nan;
          Edge<float> x(v), y(inner);
          for (const Reduce f : {Reduce::max, Reduce::min, Reduce::sum}) {
            reduce(f, x, y, 1, n, inner);
            ASSERT_TRUE(std::isnan(y[0])) << n << " " << at;
            if (inner > 1) {
              ASSERT_FALSE(std::isnan(y[1]));
            }
          }
        }
  });
}

TEST(Reduce, LongSumsStayAccurate) {
  on_every_target([] {
    const int64_t n = 1 << 20;
    std::vector<float> x(static_cast<size_t>(n), 0.1f);
    float y[1], wide[4];
    reduce(Reduce::sum, x.data(), y, 1, n, 1);
    reduce(Reduce::sum, x.data(), wide, 1, n / 4, 4);
    EXPECT_TRUE(near(static_cast<double>(0.1f) * static_cast<double>(n), static_cast<double>(y[0]), 1e-6));
    EXPECT_TRUE(near(static_cast<double>(0.1f) * static_cast<double>(n / 4), static_cast<double>(wide[0]), 2e-6));
  });
}

TEST(Reduce, WholeArrays) {
  on_every_target([] {
    for (int64_t n = 0; n <= 70; ++n) {
      Edge<float> a(random_floats(n, -1, 1, 1));
      double q = 0;
      for (int64_t i = 0; i < n; ++i) q += static_cast<double>(a[i]) * static_cast<double>(a[i]);
      EXPECT_TRUE(near(q, sum_squares(a, n), 1e-12, 1e-14));
      EXPECT_TRUE(all_finite(a, n));
      for (const float bad : {nan, inf, -inf})
        for (int64_t i = 0; i < n; ++i) {
          const float keep = a[i];
          a[i] = bad;
          ASSERT_FALSE(all_finite(a, n)) << n << " " << i;
          a[i] = keep;
        }
    }
    const float huge[] = {3e38f, 3e38f};
    EXPECT_TRUE(all_finite(huge, 2));
    EXPECT_NEAR(1, sum_squares(huge, 2) / 1.8e77, 1e-6);
  });
}

TEST(Reduce, FirstLargest) {
  on_every_target([] {
    const std::vector<float> x = {1, 3, 3, 2, nan, 5, nan, 1, 1, 1, 1, 1};
    int32_t i[3];
    int64_t j[4];
    argmax(x.data(), DType::i32, i, 3, 4, 1);
    EXPECT_EQ((std::vector<int32_t>{1, 0, 0}), std::vector<int32_t>(i, i + 3));
    argmax(x.data(), DType::i64, j, 1, 3, 4);
    EXPECT_EQ((std::vector<int64_t>{1, 1, 1, 0}), std::vector<int64_t>(j, j + 4));
  });
}

TEST(Reduce, Booleans) {
  on_every_target([] {
    const uint8_t x[] = {0, 2, 0, 0, 1, 1};
    uint8_t y[3];
    any(x, y, 3, 2, 1);
    EXPECT_EQ((std::vector<uint8_t>{1, 0, 1}), std::vector<uint8_t>(y, y + 3));
    all(x, y, 3, 2, 1);
    EXPECT_EQ((std::vector<uint8_t>{0, 0, 1}), std::vector<uint8_t>(y, y + 3));
    any(x, y, 1, 2, 3);
    EXPECT_EQ((std::vector<uint8_t>{0, 1, 1}), std::vector<uint8_t>(y, y + 3));
  });
}

TEST(Softmax, EveryViewMatchesDouble) {
  on_every_target([] {
    for (const View &v : views()) {
      if (v.axis == 0) continue;
      Edge<float> x(random_floats(v.size(), -8, 8)), y(v.size()), l(v.size()), dx(v.size());
      Edge<float> dy(random_floats(v.size(), -1, 1, 3)), dl(v.size());
      softmax(x, y, v.outer, v.axis, v.inner);
      log_softmax(x, l, v.outer, v.axis, v.inner);
      softmax_grad(dy, y, dx, v.outer, v.axis, v.inner);
      log_softmax_grad(dy, l, dl, v.outer, v.axis, v.inner);
      v.each(x, [&](const std::vector<double> &values, int64_t at) {
        double total = 0, weighted = 0, all = 0;
        auto place = [&](int64_t a) { return (at / v.inner * v.axis + a) * v.inner + at % v.inner; };
        for (double a : values) total += std::exp(a);
        for (int64_t a = 0; a < v.axis; ++a) {
          weighted += std::exp(values[static_cast<size_t>(a)]) / total * static_cast<double>(dy[place(a)]);
          all += static_cast<double>(dy[place(a)]);
        }
        for (int64_t a = 0; a < v.axis; ++a) {
          const double value = values[static_cast<size_t>(a)], p = std::exp(value) / total,
                       d = static_cast<double>(dy[place(a)]);
          ASSERT_TRUE(near(p, static_cast<double>(y[place(a)]), 4e-6, 1e-9));
          ASSERT_TRUE(near(value - std::log(total), static_cast<double>(l[place(a)]), 2e-6, 1e-6));
          ASSERT_TRUE(near(p * (d - weighted), static_cast<double>(dx[place(a)]), 1e-5, 1e-6));
          ASSERT_TRUE(near(d - p * all, static_cast<double>(dl[place(a)]), 1e-5, 2e-5));
        }
      });
    }
  });
}

// Sums of many are as exact as sums of few: in rows and in columns.
TEST(Softmax, LongRows) {
  on_every_target([] {
    for (const View &v : {View{1, 10'000'000, 1}, View{1, 3'000'000, 3}}) {
      const std::vector<float> x = random_floats(v.size(), 0, 1);
      std::vector<float> y(x.size()), z(x.size());
      softmax(x.data(), y.data(), v.outer, v.axis, v.inner);
      log_softmax(x.data(), z.data(), v.outer, v.axis, v.inner);
      v.each(x.data(), [&](const std::vector<double> &values, int64_t at) {
        double exps = 0, whole = 0;
        for (double value : values) exps += std::exp(value);
        for (int64_t a = 0; a < v.axis; ++a) whole += static_cast<double>(y[static_cast<size_t>(a * v.inner + at)]);
        EXPECT_NEAR(whole, 1, 5e-7) << v.inner;
        EXPECT_NEAR(static_cast<double>(z[static_cast<size_t>(at)]), values[0] - std::log(exps), 2e-6) << v.inner;
      });
      // Of dy = 1 at every second place the gradient is y (dy - sum of dy y), half of y.
      std::vector<float> dy(x.size()), dx(x.size());
      for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i / static_cast<size_t>(v.inner) % 2);
      softmax_grad(dy.data(), y.data(), dx.data(), v.outer, v.axis, v.inner);
      for (int64_t at = 0; at < v.inner; ++at) {
        double total = 0;
        for (int64_t a = 0; a < v.axis; ++a) total += static_cast<double>(dx[static_cast<size_t>(a * v.inner + at)]);
        EXPECT_NEAR(total, 0, 2e-7) << v.inner;
      }
    }
  });
}

TEST(Softmax, SpecialRows) {
  on_every_target([] {
    for (int64_t inner : {1, 2}) {
      std::vector<float> x;
      for (float v : {1.0f, nan, 2.0f, 5.0f, -inf, 5.0f, 1e30f, 3e38f, -1e30f})
        for (int64_t i = 0; i < inner; ++i) x.push_back(v);
      std::vector<float> y(x.size());
      softmax(x.data(), y.data(), 3, 3, inner);
      for (int a = 0; a < 3; ++a) EXPECT_TRUE(std::isnan(y[static_cast<size_t>(a * inner)]));
      EXPECT_EQ(0.5f, y[static_cast<size_t>(3 * inner)]);
      EXPECT_EQ(0.0f, y[static_cast<size_t>(4 * inner)]);
      EXPECT_EQ(1.0f, y[static_cast<size_t>(7 * inner)]);
    }
  });
}

TEST(Sparsemax, IsTheNearestPointOfTheSimplex) {
  on_every_target([] {
    const std::vector<float> x = {1, 0.5f, -1, 0.1f, 0.2f, 0.3f, 9, 0, 0};
    std::vector<float> y(9), dx(9), scratch(3);
    sparsemax(x.data(), y.data(), 3, 3, 1, scratch.data());
    const double want[] = {0.75, 0.25, 0, 7. / 30, 1. / 3, 13. / 30, 1, 0, 0};
    for (size_t i = 0; i < 9; ++i) EXPECT_TRUE(near(want[i], static_cast<double>(y[i])));
    const std::vector<float> dy = {1, 3, 5, 1, 2, 6, 1, 2, 3};
    sparsemax_grad(dy.data(), y.data(), dx.data(), 3, 3, 1);
    EXPECT_EQ((std::vector<float>{-1, 1, 0, -2, -1, 3, 0, 0, 0}), dx);
    std::vector<float> z = {1, nan, 0};
    sparsemax(z.data(), z.data(), 1, 3, 1, scratch.data());
    for (float v : z) EXPECT_TRUE(std::isnan(v));
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
