// NaN, infinities and denormals at every place of odd lengths, on every instruction set: against plain double.
#include <functional>

#include "kernels/elementwise.hpp"
#include "kernels/lstm.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/pool.hpp"
#include "kernels/reduce.hpp"
#include "kernels/small_gemm.hpp"
#include "kernels/softmax.hpp"
#include "targets.hpp"

namespace dl4::kernels {
namespace {

constexpr float specials[] = {nan, inf, -inf, 1e-40f, -1e-40f, 0.0f, -0.0f};

// The same class, and near where it is finite. A denormal may be flushed.
::testing::AssertionResult alike(double expected, double got) {
  if (std::isinf(expected) && expected == got) return ::testing::AssertionSuccess();
  if (std::isinf(got) != std::isinf(expected)) return near(expected, got);
  return near(expected, got, 1e-5, 1e-6);
}

// f(array with v at one place): for every special value, every odd length, every place.
void everywhere(const std::function<void(const std::vector<float> &)> &f) {
  on_every_target([&] {
    for (int64_t n : {1, 3, 17, 37})
      for (float v : specials)
        for (int64_t at = 0; at < n; ++at) {
          std::vector<float> x = random_floats(n, 0.5f, 2, static_cast<uint32_t>(n));
          x[static_cast<size_t>(at)] = v;
          SCOPED_TRACE(std::to_string(v) + " at " + std::to_string(at) + " of " + std::to_string(n));
          f(x);
          if (::testing::Test::HasFailure()) return;
        }
  });
}

TEST(SpecialValues, SumsAndProducts) {
  everywhere([](const std::vector<float> &v) {
    const auto n = static_cast<int64_t>(v.size());
    Edge<float> x(v), y(random_floats(n, 0.5f, 2, 9)), one(1), out(n);
    double total = 0, squares = 0, times = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double a = static_cast<double>(x[i]);
      total += a;
      squares += a * a;
      times += a * static_cast<double>(y[i]);
    }
    EXPECT_TRUE(alike(total, sum(x, n)));
    EXPECT_TRUE(alike(squares, sum_squares(x, n)));
    EXPECT_TRUE(alike(times, dot(x, y, n)));
    reduce(Reduce::sum, x, one, 1, n, 1);
    EXPECT_TRUE(alike(total, static_cast<double>(one[0])));
    small_gemm(1, 1, n, x, n, y, 1, nullptr, 0, one, 1);
    EXPECT_TRUE(alike(times, static_cast<double>(one[0])));
    small_gemm_bt(1, 1, n, x, n, y, n, nullptr, 0, one, 1);
    EXPECT_TRUE(alike(times, static_cast<double>(one[0])));
    // One value times a row of the special ones.
    const float two = 2;
    Edge<float> packed(packed_floats(1, n));
    pack_b(1, n, x, n, false, packed);
    for (int way = 0; way < 2; ++way) {
      if (way == 0) small_gemm(1, n, 1, &two, 1, x, n, y, 0, out, n);
      else packed_gemm(1, n, 1, &two, 1, packed, y, 0, out, n);
      for (int64_t i = 0; i < n; ++i)
        EXPECT_TRUE(alike(2 * static_cast<double>(x[i]) + static_cast<double>(y[i]), static_cast<double>(out[i]))) << i;
    }
  });
}

TEST(SpecialValues, ElementByElement) {
  everywhere([](const std::vector<float> &v) {
    const auto n = static_cast<int64_t>(v.size());
    Edge<float> x(v), y(random_floats(n, 0.5f, 2, 9)), out(n);
    auto expect = [&](const char *what, auto f) {
      for (int64_t i = 0; i < n; ++i)
        EXPECT_TRUE(alike(f(static_cast<double>(x[i]), static_cast<double>(y[i])), static_cast<double>(out[i]))) << what << ' ' << i;
    };
    binary_run(Binary::add, DType::f32, x, 1, y, 1, out, n);
    expect("add", [](double a, double b) { return a + b; });
    binary_run(Binary::mul, DType::f32, x, 1, y, 1, out, n);
    expect("mul", [](double a, double b) { return a * b; });
    binary_run(Binary::max, DType::f32, x, 1, y, 1, out, n);
    expect("max", [](double a, double b) { return std::isnan(a) ? a : std::max(a, b); });
    axpby(3, x, 2, y, out, n);
    expect("axpby", [](double a, double b) { return 3 * a + 2 * b; });
    multiply_add(x, y, y, out, n);
    expect("multiply_add", [](double a, double b) { return a * b + b; });
    std::copy(y.data(), y.data() + n, out.data());
    axpy(-2, x, out, n);
    expect("axpy", [](double a, double b) { return b - 2 * a; });
  });
}

TEST(SpecialValues, Updates) {
  everywhere([](const std::vector<float> &v) {
    const auto n = static_cast<int64_t>(v.size());
    Edge<float> g(v), w(std::vector<float>(v.size(), 1.0f)), a(std::vector<float>(v.size(), 1.0f)), m(n), s(n);
    sgd(Sgd{.lr = 0.5}, w, g, nullptr, n);
    adam(Adam{.lr = 0.5}, a, g, m, s, nullptr, n);
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_TRUE(alike(1 - 0.5 * static_cast<double>(g[i]), static_cast<double>(w[i]))) << i;
      EXPECT_EQ(std::isfinite(g[i]), std::isfinite(a[i])) << i;
      if (std::fabs(g[i]) < 1e-30f) {
        EXPECT_NEAR(a[i], 1, 1e-6) << i;
      }
    }
  });
}

TEST(SpecialValues, Windows) {
  everywhere([](const std::vector<float> &v) {
    const auto c = static_cast<int64_t>(v.size());
    // Two cells of c channels each: the special ones, and ones.
    const Pool p{.n = 1, .w = 2, .c = c, .kw = 2, .oh = 1, .ow = 1};
    std::vector<float> both = v;
    both.resize(v.size() * 2, 1.0f);
    Edge<float> x(both), most(c), mean(c);
    max_pool(p, x, most, 0, 1);
    average_pool(p, x, mean, 0, 1);
    for (int64_t i = 0; i < c; ++i) {
      const double a = static_cast<double>(x[i]);
      EXPECT_TRUE(alike(std::isnan(a) ? a : std::max(a, 1.0), static_cast<double>(most[i]))) << i;
      EXPECT_TRUE(alike((a + 1) / 2, static_cast<double>(mean[i]))) << i;
    }
  });
}

TEST(SpecialValues, SoftmaxOfARow) {
  everywhere([](const std::vector<float> &v) {
    const auto n = static_cast<int64_t>(v.size());
    Edge<float> x(v), y(n);
    softmax(x, y, 1, n, 1);
    double peak = -HUGE_VAL, total = 0;
    for (float f : v) peak = std::isnan(f) ? static_cast<double>(f) : std::max(peak, static_cast<double>(f));
    for (float f : v) total += std::exp(static_cast<double>(f) - peak);
    for (int64_t i = 0; i < n; ++i) {
      const double expected = std::exp(static_cast<double>(x[i]) - peak) / total;
      EXPECT_TRUE(near(expected, static_cast<double>(y[i]))) << i;
    }
  });
}

// A special pre-activation saturates its own unit; NaN goes no further than that.
TEST(SpecialValues, LstmCell) {
  everywhere([](const std::vector<float> &v) {
    const auto h = static_cast<int64_t>(v.size());
    for (int gate = 0; gate < 4; ++gate) {
      std::vector<float> in(static_cast<size_t>(4 * h), 0.25f);
      std::copy(v.begin(), v.end(), in.begin() + gate * h);
      Edge<float> gates(in), before(std::vector<float>(v.size(), 0.5f)), c(h), out(h);
      lstm_cell(1, h, gates, 4 * h, before, h, nullptr, 0, nullptr, 0, c, h, out, h);
      for (int64_t i = 0; i < h; ++i) {
        auto of = [&](int g) { return static_cast<double>(in[static_cast<size_t>(g * h + i)]); };
        auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
        const double cell = sigmoid(of(1)) * 0.5 + sigmoid(of(0)) * std::tanh(of(2));
        EXPECT_TRUE(near(cell, static_cast<double>(c[i]))) << gate << ' ' << i;
        EXPECT_TRUE(near(sigmoid(of(3)) * std::tanh(cell), static_cast<double>(out[i]))) << gate << ' ' << i;
      }
    }
  });
}

}  // namespace
}  // namespace dl4::kernels
