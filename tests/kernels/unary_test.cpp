// Functions of one value against double precision: accuracy, special values, gradients, every length and instruction
// set.
#include <array>
#include <functional>
#include <numbers>
#include <utility>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using Params = std::array<float, 3>;

double clip(double x, double a, double b) { return std::isnan(x) ? x : x < a ? a : x > b ? b : x; }
double positive(double x) { return std::isnan(x) || x > 0 ? x : 0; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + positive(x); }

// By bisection of erf, of the complement where that says more.
double erfinv(double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return NAN;
  if (std::fabs(y) == 1 || y == 0) return y == 0 ? y : y * HUGE_VAL;
  const double a = std::fabs(y);
  if (a < 1e-10) return y * 0.88622692545275801;
  double low = 0, high = 6;
  for (int i = 0; i < 200; ++i) {
    const double x = (low + high) / 2;
    (a < 0.5 ? std::erf(x) < a : std::erfc(x) > 1 - a) ? low = x : high = x;
  }
  return std::copysign(low, y);
}

double reference(Unary f, const Params &p, double x) {
  const double a = p[0], b = p[1], c = p[2];
  switch (f) {
    case Unary::neg:
      return -x;
    case Unary::abs:
      return std::fabs(x);
    case Unary::sign:
      return std::isnan(x) ? x : (x > 0) - (x < 0);
    case Unary::square:
      return x * x;
    case Unary::sqrt:
      return std::sqrt(x);
    case Unary::rsqrt:
      return 1 / std::sqrt(x);
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return std::log(x);
    case Unary::log1p:
      return std::log1p(x);
    case Unary::expm1:
      return std::expm1(x);
    case Unary::sin:
      return std::sin(x);
    case Unary::cos:
      return std::cos(x);
    case Unary::tan:
      return std::tan(x);
    case Unary::asin:
      return std::asin(x);
    case Unary::acos:
      return std::acos(x);
    case Unary::atan:
      return std::atan(x);
    case Unary::sinh:
      return std::sinh(x);
    case Unary::cosh:
      return std::cosh(x);
    case Unary::asinh:
      return std::asinh(x);
    case Unary::acosh:
      return x < 1 ? static_cast<double>(nan) : std::acosh(x);  // musl gives a number
    case Unary::atanh:
      return std::atanh(x);
    case Unary::erf:
      return std::erf(x);
    case Unary::erfc:
      return std::erfc(x);
    case Unary::erfinv:
      return erfinv(x);
    case Unary::cbrt:
      return std::cbrt(x);
    case Unary::floor:
      return std::floor(x);
    case Unary::ceil:
      return std::ceil(x);
    case Unary::round:
      return std::nearbyint(x);
    case Unary::relu:
      return positive(x);
    case Unary::relu6:
      return clip(x, 0, 6);
    case Unary::leaky_relu:
      return x > 0 ? x : a * x;
    case Unary::relu_general: {
      const double y = std::isnan(x) || x > c ? x : 0;
      return (std::isinf(b) ? y : clip(y, 0, b)) - (a == 0 ? 0 : a * positive(c - x));
    }
    case Unary::elu:
      return x > 0 ? x : a * std::expm1(x);
    case Unary::selu:
      return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    case Unary::celu:
      return x > 0 ? x : a * std::expm1(x / a);
    case Unary::sigmoid:
      return sigmoid(x);
    case Unary::log_sigmoid:
      return -softplus(-x);
    case Unary::tanh:
      return std::tanh(x);
    case Unary::softplus:
      return softplus(x);
    case Unary::softsign:
      return std::isinf(x) ? std::copysign(1, x) : x / (1 + std::fabs(x));
    case Unary::gelu:
      return x < -1e3 ? 0 : 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Unary::gelu_tanh:
      return x < -1e3 ? 0 : x * sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x));
    case Unary::silu:
      return x < -1e3 ? 0 : x * sigmoid(x);
    case Unary::mish:
      return x < -1e3 ? 0 : x * std::tanh(softplus(x));
    case Unary::hard_sigmoid:
      return clip(x + 3, 0, 6) / 6;
    case Unary::hard_sigmoid_v1:
      return clip(0.2 * x + 0.5, 0, 1);
    case Unary::hard_silu:
      return x < -1e3 ? 0 : x * clip(x + 3, 0, 6) / 6;
    case Unary::hard_tanh:
      return clip(x, -1, 1);
    case Unary::tanh_shrink:
      return x - std::tanh(x);
    case Unary::hard_shrink:
      return std::fabs(x) <= a ? 0 : x;
    case Unary::soft_shrink:
      return x > a ? x - a : x < -a ? x + a : std::isnan(x) ? x : 0;
    case Unary::threshold:
      return x <= a ? b : x;
    case Unary::squareplus:
      return (x + std::sqrt(x * x + a)) / 2;
    case Unary::sparse_plus:
      return x <= -1 ? 0 : x >= 1 ? x : (x + 1) * (x + 1) / 4;
    case Unary::sparse_sigmoid:
      return clip(0.5 * (x + 1), 0, 1);
    case Unary::clip:
      return clip(x, a, b);
    case Unary::scale_shift:
      return a * x + b;
    case Unary::count_:
      break;
  }
  return 0;
}

Params params_of(Unary f) {
  switch (f) {
    case Unary::leaky_relu:
      return {0.3f};
    case Unary::relu_general:
      return {0.25f, 1.5f, 0.5f};
    case Unary::elu:
      return {1.5f};
    case Unary::celu:
      return {0.75f};
    case Unary::hard_shrink:
    case Unary::soft_shrink:
      return {0.5f};
    case Unary::threshold:
      return {0.25f, -7};
    case Unary::squareplus:
      return {4};
    case Unary::clip:
      return {-0.5f, 1.25f};
    case Unary::scale_shift:
      return {2.5f, -1};
    default:
      return {};
  }
}

template <class F>
void for_every_unary(const F &f) {
  for (int i = 0; i < static_cast<int>(Unary::count_); ++i) {
    SCOPED_TRACE(std::string(unary_table[static_cast<size_t>(i)].name));
    f(static_cast<Unary>(i));
  }
}

// Formulas that Keras writes with a cancellation in float32 as well.
bool cancels(Unary f) { return f == Unary::tanh_shrink || f == Unary::squareplus || f == Unary::scale_shift; }

TEST(Unary, EveryLengthMatchesDouble) {
  on_every_target([] {
    for_every_unary([](Unary f) {
      const Params p = params_of(f);
      for (int64_t n = 0; n <= 70; ++n) {
        Edge<float> x(random_floats(n, -5, 5, static_cast<uint32_t>(n))), y(n);
        unary(f, p.data(), x, y, n);
        for (int64_t i = 0; i < n; ++i)
          ASSERT_TRUE(near(reference(f, p, static_cast<double>(x[i])), static_cast<double>(y[i]), 2e-6, 1e-6)) << x[i];
        const auto apart = y.vector();
        unary(f, p.data(), x, x, n);
        if (n > 0) {
          ASSERT_EQ(0, std::memcmp(apart.data(), x.data(), apart.size() * sizeof(float))) << "in place";
        }
      }
    });
  });
}

TEST(Unary, RowsApartAreThoseOfOneRun) {
  on_every_target([] {
    for (Unary f : {Unary::relu, Unary::gelu, Unary::leaky_relu})
      for (auto [rows, cols, ld] : {std::array<int64_t, 3>{3, 37, 40}, {4, 32, 32}, {1, 5, 0}, {5, 1, 9}, {0, 3, 3}}) {
        const Params p = params_of(f);
        const int64_t n = rows == 0 ? 0 : (rows - 1) * ld + cols;
        const std::vector<float> before = random_floats(n, -5, 5, 1);
        Edge<float> x(before), want(before);
        unary_rows(f, p.data(), x, rows, cols, ld);
        for (int64_t r = 0; r < rows; ++r) unary(f, p.data(), want + r * ld, want + r * ld, cols);
        EXPECT_EQ(want.vector(), x.vector());
      }
  });
}

TEST(Unary, SpecialValues) {
  const float values[] = {nan,    -nan,   inf,     -inf,  0.0f, -0.0f, 1e-40f, -1e-40f, 3e38f,
                          -3e38f, 1e-30f, -1e-30f, 88.5f, -88,  100,   -100,   1e5f,    -1e5f};
  std::vector<float> all;  // each in a vector of its own, and in what is left after vectors
  for (const float v : values) all.insert(all.end(), 17, v);
  const int64_t n = static_cast<int64_t>(all.size()) - 5;
  on_every_target([&] {
    for_every_unary([&](Unary f) {
      const Params p = params_of(f);
      Edge<float> x(std::vector<float>(all.begin() + 5, all.end())), y(n);
      unary(f, p.data(), x, y, n);
      for (int64_t i = 0; i < n; ++i) {
        const float v = x[i];
        const double want = reference(f, p, static_cast<double>(v));
        const double rounded = static_cast<double>(static_cast<float>(want));
        const bool overflows = f == Unary::gelu_tanh || f == Unary::squareplus;  // a power on the way does, in float
        if (overflows && std::fabs(v) > 1e30f) continue;
        ASSERT_TRUE(
            near(rounded, static_cast<double>(y[i]), 4e-6,
                 1e-37 + (cancels(f) && std::isfinite(v) ? 1e-7 * std::fabs(static_cast<double>(v)) + 1e-6 : 0)))
            << v;
        if (std::isnan(v)) {
          ASSERT_TRUE(std::isnan(y[i]));
        }
      }
    });
  });
}

// The largest error in units of the last place over [low, high].
double worst_ulp(Unary f, float low, float high, bool logarithmic = false) {
  const int64_t n = 200000;
  auto x = random_floats(n, logarithmic ? std::log(low) : low, logarithmic ? std::log(high) : high);
  if (logarithmic)
    for (float &v : x) v = std::exp(v);
  std::vector<float> y(x.size());
  const Params p = params_of(f);
  unary(f, p.data(), x.data(), y.data(), n);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = reference(f, p, static_cast<double>(x[i]));
    const float nearest = static_cast<float>(want);
    if (std::fabs(nearest) < 1.2e-38f) continue;
    const double ulp = static_cast<double>(std::nextafter(std::fabs(nearest), inf) - std::fabs(nearest));
    worst = std::max(worst, std::fabs(want - static_cast<double>(y[i])) / ulp);
  }
  return worst;
}

TEST(Unary, Accuracy) {
  on_every_target([] {
    EXPECT_LT(worst_ulp(Unary::exp, -87, 88.7f), 2);
    EXPECT_LT(worst_ulp(Unary::log, 1e-37f, 1e38f, true), 2);
    EXPECT_LT(worst_ulp(Unary::log, 0.5f, 2), 2);
    EXPECT_LT(worst_ulp(Unary::log1p, 1e-30f, 1e30f, true), 3);
    EXPECT_LT(worst_ulp(Unary::log1p, -0.999f, 1), 3);
    EXPECT_LT(worst_ulp(Unary::expm1, -20, 88), 3);
    EXPECT_LT(worst_ulp(Unary::expm1, 1e-30f, 1, true), 3);
    EXPECT_LT(worst_ulp(Unary::sin, -1.5f, 1.5f), 3);
    EXPECT_LT(worst_ulp(Unary::sin, 1e4f, 1e30f, true), 1);
    EXPECT_LT(worst_ulp(Unary::cos, -1.5f, 1.5f), 3);
    EXPECT_LT(worst_ulp(Unary::tan, -1.5f, 1.5f), 2);
    EXPECT_LT(worst_ulp(Unary::asin, -1, 1), 2);
    EXPECT_LT(worst_ulp(Unary::acos, -1, 1), 2);
    EXPECT_LT(worst_ulp(Unary::atan, 1e-30f, 1e30f, true), 2);
    EXPECT_LT(worst_ulp(Unary::sinh, 1e-30f, 80, true), 2);
    EXPECT_LT(worst_ulp(Unary::cosh, -80, 80), 2);
    EXPECT_LT(worst_ulp(Unary::asinh, 1e-30f, 1e30f, true), 4);
    EXPECT_LT(worst_ulp(Unary::acosh, 1.01f, 1e30f, true), 4);
    EXPECT_LT(worst_ulp(Unary::atanh, -0.999f, 0.999f), 4);
    EXPECT_LT(worst_ulp(Unary::erfc, -4, 8), 4);
    EXPECT_LT(worst_ulp(Unary::erfinv, -0.9999f, 0.9999f), 2);
    EXPECT_LT(worst_ulp(Unary::cbrt, 1e-30f, 1e30f, true), 2);
    EXPECT_LT(worst_ulp(Unary::erf, -4, 4), 4);
    EXPECT_LT(worst_ulp(Unary::erf, 1e-30f, 1, true), 4);
    EXPECT_LT(worst_ulp(Unary::tanh, -12, 12), 4);
    EXPECT_LT(worst_ulp(Unary::tanh, 1e-30f, 1, true), 4);
    EXPECT_LT(worst_ulp(Unary::sigmoid, -87, 20), 4);
    EXPECT_LT(worst_ulp(Unary::softplus, -80, 80), 4);
    EXPECT_LT(worst_ulp(Unary::log_sigmoid, -80, 80), 4);
    EXPECT_LT(worst_ulp(Unary::gelu, -4, 5), 32);
    EXPECT_LT(worst_ulp(Unary::silu, -80, 80), 4);
    EXPECT_LT(worst_ulp(Unary::mish, -80, 80), 8);
  });
}

// Where the function has values whose slopes differences tell.
std::pair<float, float> domain(Unary f) {
  switch (f) {
    case Unary::log:
    case Unary::sqrt:
    case Unary::rsqrt:
    case Unary::log1p:
    case Unary::cbrt:
      return {0.2f, 4};
    case Unary::acosh:
      return {1.2f, 4};
    case Unary::tan:
    case Unary::asin:
    case Unary::acos:
    case Unary::atanh:
    case Unary::erfinv:
      return {-0.9f, 0.9f};
    default:
      return {-4, 4};
  }
}

TEST(UnaryGrad, MatchesTheSlopeInDouble) {
  on_every_target([] {
    for_every_unary([](Unary f) {
      const Params p = params_of(f);
      for (const int64_t n : {0, 1, 3, 7, 16, 33, 70}) {
        const auto [low, high] = domain(f);
        Edge<float> x(random_floats(n, low, high, static_cast<uint32_t>(n) + 5)), y(n), dx(n);
        Edge<float> dy(random_floats(n, 0.5f, 2, 9));
        unary(f, p.data(), x, y, n);
        float *from = grad_from(f, p.data()) == GradFrom::input ? x.data() : y.data();
        unary_grad(f, p.data(), dy, from, dx, n);
        for (int64_t i = 0; i < n; ++i) {
          const double at = static_cast<double>(x[i]), e = 1e-4;
          const double up = reference(f, p, at + e), down = reference(f, p, at - e), mid = reference(f, p, at);
          if (std::fabs((up - mid) - (mid - down)) > 1e-5) continue;  // a kink
          const double want = static_cast<double>(dy[i]) * (up - down) / (2 * e);
          ASSERT_TRUE(near(want, static_cast<double>(dx[i]), 2e-5, 2e-6)) << "x " << x[i];
        }
        const auto apart = dx.vector();
        unary_grad(f, p.data(), dy, from, from, n);
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(apart[static_cast<size_t>(i)], from[i]) << "in place";
      }
    });
  });
}

// The slopes of each function at -infinity and at infinity, in the order of Unary.
constexpr double far_slopes[][2] = {{-1, -1},
                                    {-1, 1},
                                    {0, 0},
                                    {-HUGE_VAL, HUGE_VAL},
                                    {NAN, 0},
                                    {NAN, 0},  // up to rsqrt
                                    {0, HUGE_VAL},
                                    {0, 0},
                                    {0, 0},  // up to log1p
                                    {0, HUGE_VAL},
                                    {NAN, NAN},
                                    {NAN, NAN},  // up to cos
                                    {NAN, NAN},
                                    {NAN, NAN},
                                    {NAN, NAN},
                                    {0, 0},
                                    {HUGE_VAL, HUGE_VAL},
                                    {-HUGE_VAL, HUGE_VAL},
                                    {0, 0},
                                    {NAN, 0},
                                    {0, 0},  // up to atanh
                                    {0, 0},
                                    {0, 0},
                                    {NAN, NAN},
                                    {0, 0},  // up to cbrt
                                    {0, 0},
                                    {0, 0},
                                    {0, 0},  // up to round
                                    {0, 1},
                                    {0, 0},
                                    {0.3, 1},
                                    {0.25, 0},
                                    {0, 1},
                                    {0, 1.0507009873554805},
                                    {0, 1},  // up to celu
                                    {0, 0},
                                    {1, 0},
                                    {0, 0},
                                    {0, 1},
                                    {0, 0},
                                    {0, 1},
                                    {0, 1},
                                    {0, 1},
                                    {0, 1},  // up to mish
                                    {0, 0},
                                    {0, 0},
                                    {0, 1},
                                    {0, 0},
                                    {1, 1},
                                    {1, 1},
                                    {1, 1},
                                    {0, 1},  // up to threshold
                                    {0, 1},
                                    {0, 1},
                                    {0, 0},
                                    {0, 0},
                                    {2.5, 2.5}};
static_assert(std::size(far_slopes) == unary_table.size());

// The slope at a special value. Kinks are a test of their own.
double special_slope(Unary f, const Params &p, float v) {
  if (std::isnan(v)) {
    const bool steps = f == Unary::sign || f == Unary::floor || f == Unary::ceil || f == Unary::round;
    const bool constant = f == Unary::neg || f == Unary::scale_shift || steps;
    return constant ? far_slopes[static_cast<size_t>(f)][0] : nan;
  }
  if (std::isinf(v)) return far_slopes[static_cast<size_t>(f)][v > 0];
  const double x = static_cast<double>(v), e = 1e-5;
  if (f == Unary::sqrt) return 0.5 / std::sqrt(x);
  if (f == Unary::rsqrt) return -0.5 / x / std::sqrt(x);
  if (f == Unary::log) return 1 / x;
  if (f == Unary::cbrt) return 1 / (3 * std::cbrt(x) * std::cbrt(x));
  if (f == Unary::acosh && x < 1) return nan;
  return (reference(f, p, x + e) - reference(f, p, x - e)) / (2 * e);
}

TEST(UnaryGrad, SpecialValues) {
  on_every_target([] {
    for_every_unary([](Unary f) {
      const Params p = params_of(f);
      const int64_t n = 19;
      Edge<float> x(n), y(n), dx(n), dy(random_floats(n, 0.5f, 2, 9));
      auto at = [&](double v) { return reference(f, p, v); };
      const bool steps = f == Unary::sign || f == Unary::floor || f == Unary::ceil || f == Unary::round;
      const bool kink = steps || std::fabs(at(1e-3) + at(-1e-3) - 2 * at(0)) > 1e-5;
      float *from = grad_from(f, p.data()) == GradFrom::input ? x : y;
      auto expect = [&](float v, float d) {
        for (int64_t place = 0; place < n; ++place) {
          std::fill_n(x.data(), n, 0.75f);
          x[place] = v;
          const float keep = std::exchange(dy[place], d);
          unary(f, p.data(), x, y, n);
          unary_grad(f, p.data(), dy, from, dx, n);
          for (int64_t i = 0; i < n; ++i) {
            const double slope = special_slope(f, p, x[i]), want = static_cast<double>(dy[i]) * slope;
            // Where the slope is 0, the gradient may be taken or not.
            if (i == place && slope == 0 && !std::isfinite(d) && dx[i] == 0) continue;
            ASSERT_TRUE(near(static_cast<double>(static_cast<float>(want)), static_cast<double>(dx[i]), 2e-5, 2e-6))
                << "x " << x[i] << ", dy " << dy[i];
          }
          dy[place] = keep;
        }
      };
      for (const float v : {nan, inf, -inf})
        if (std::isnan(v) || f != Unary::squareplus) expect(v, 1.5f);  // whose formula has a square that overflows
      for (const float v : {0.0f, 1e-40f}) {
        if (!kink) expect(v, 1.5f);
      }
      for (const float d : {nan, inf, -inf, 1e-40f}) expect(0.75f, d);
    });
  });
}

TEST(UnaryGrad, Kinks) {
  auto at = [](Unary f, Params p, float v) {
    float one = 1, d = 0;
    unary_grad(f, p.data(), &one, &v, &d, 1);
    return d;
  };
  on_every_target([&] {
    EXPECT_EQ(0, at(Unary::relu, {}, 0));
    EXPECT_EQ(0, at(Unary::relu6, {}, 6));
    EXPECT_EQ(0.3f, at(Unary::leaky_relu, {0.3f}, 0));
    EXPECT_EQ(0, at(Unary::relu_general, {0, inf, 0}, 0));
    EXPECT_EQ(0.25f, at(Unary::relu_general, {0.25f, inf, 0}, 0));
    EXPECT_EQ(0, at(Unary::relu_general, {0, 6, 0}, 6));
    EXPECT_EQ(1, at(Unary::relu_general, {0, 5, 0}, 5));
    EXPECT_EQ(1, at(Unary::hard_tanh, {}, 1));
    EXPECT_EQ(0, at(Unary::abs, {}, 0));
    EXPECT_TRUE(std::isnan(at(Unary::relu, {}, nan)));
    EXPECT_TRUE(std::isnan(at(Unary::relu6, {}, nan)));
    EXPECT_TRUE(std::isnan(at(Unary::sigmoid, {}, nan)));
  });
}

TEST(UnaryGrad, ALeakWithoutSlopeLooksAtTheInput) {
  const float flat[] = {0}, some[] = {0.1f};
  EXPECT_EQ(GradFrom::input, grad_from(Unary::leaky_relu, flat));
  EXPECT_EQ(GradFrom::output, grad_from(Unary::leaky_relu, some));
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
