// GridSample and RoiAlign: formulas in double, refusals.
#include <algorithm>
#include <cmath>

#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

struct Sampling {
  std::string between = "linear", outside = "zeros";
  bool corners = false;
};

double mirrored(double x, double low, double high) {
  if (high <= low) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

// The places of an axis that x takes values of, and their weights; -1: a zero.
std::vector<std::pair<int64_t, double>> taken(double x, int64_t n, const Sampling &how) {
  const auto last = static_cast<double>(n - 1);
  const double low = how.corners ? 0 : -0.5, high = how.corners ? last : last + 0.5;
  if (how.between == "nearest") x = std::nearbyint(x);
  if (x < low || x > high) {
    if (how.outside == "border" && how.between != "cubic") x = std::clamp(x, 0.0, last);
    if (how.outside == "reflection") x = mirrored(x, low, high);
  }
  const auto place = [&](double p) {
    if (how.outside == "reflection") p = mirrored(p, low, high);
    if (how.outside == "zeros" && (p < 0 || p > last)) return int64_t{-1};
    return static_cast<int64_t>(std::clamp(std::nearbyint(p), 0.0, last));
  };
  const double f = std::floor(x), t = x - f;
  if (how.between == "nearest") return {{place(x), 1}};
  if (how.between == "linear") return {{place(f), 1 - t}, {place(f + 1), t}};
  constexpr double a = -0.75;
  std::vector<std::pair<int64_t, double>> all;
  for (int k = -1; k < 3; ++k) {
    const double d = std::abs(t - k);
    all.emplace_back(place(f + k),
                     d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a);
  }
  return all;
}

// Channel c of item b of x (B, H, W, C), at a place of each axis.
double value(const Array &x, int64_t b, int64_t c, const std::vector<double> &at, const Sampling &how) {
  double sum = 0;
  const auto add = [&](auto &self, size_t axis, int64_t place, double weight) -> void {
    if (axis == at.size()) {
      sum += weight * x[place * x.shape.last() + c];
      return;
    }
    const int64_t n = x.shape[static_cast<int>(axis) + 1];
    for (const auto &[p, w] : taken(at[axis], n, how))
      if (p >= 0) self(self, axis + 1, place * n + p, weight * w);
  };
  add(add, 0, b, 1);
  return sum;
}

// Places inside and outside of n, none of them near where a value bends.
std::vector<double> some_places(int64_t n, int64_t count, double first) {
  std::vector<double> all;
  for (int64_t i = 0; i < count; ++i) {
    const double x = first + 1.3 * static_cast<double>(i);
    all.push_back(std::fmod(x, static_cast<double>(n) + 3) - 1.8);
    double &p = all.back();
    const double t = p - std::floor(p);
    for (double kink : {0.0, 0.5, 1.0})
      if (std::abs(t - kink) < 0.06) p += 0.13;
  }
  return all;
}

TEST(GridSample, Formula) {
  for (const Shape &s : {Shape{2, 5, 2}, Shape{2, 4, 3, 3}, Shape{1, 3, 4, 2, 2}, Shape{2, 1, 4, 2}})
    for (const char *between : {"nearest", "linear", "cubic"})
      for (const char *outside : {"zeros", "border", "reflection"})
        for (const bool corners : {false, true}) {
          const Sampling how{between, outside, corners};
          const int axes = s.rank() - 2;
          if (how.between == "cubic" && axes == 3) continue;
          const Json config{{"interpolation", between}, {"padding", outside}, {"align_corners", corners}};
          SCOPED_TRACE(text(s, config.shown()));
          const int64_t m = 4;
          const auto scale = [=](int64_t n) { return std::pair((corners ? n - 1.0 : n * 1.0) / 2, (n - 1.0) / 2); };
          Tensor grid = make_tensor(DType::f32, {s[0], m, 1, axes});
          for (int axis = 0; axis < axes; ++axis) {
            const int64_t n = s[axis + 1];
            const auto places = some_places(n, s[0] * m, 0.2 + 0.7 * axis);
            const auto [by, middle] = scale(n);
            for (size_t i = 0; i < places.size(); ++i)
              grid.as<float>()[static_cast<int64_t>(i) * axes + axes - 1 - axis] =
                  static_cast<float>(by == 0 ? 0.3 : (places[i] - middle) / by);
          }
          Case c = layer_case("GridSample", config, {randoms({s})[0], grid}, 0, [=](const auto &in) {
            Array y = zeros({s[0], m, 1, s.last()});
            for (int64_t i = 0; i < y.shape.elements(); ++i) {
              const int64_t place = i / s.last();
              std::vector<double> at;
              for (int axis = 0; axis < axes; ++axis) {
                const auto [by, middle] = scale(s[axis + 1]);
                at.push_back(in[1][place * axes + axes - 1 - axis] * by + middle);
              }
              y[i] = value(in[0], place / m, i % s.last(), at, how);
            }
            return std::vector<Array>{y};
          });
          c.tolerance = 3e-5;
          const bool few = how.outside == "zeros" && !corners;  // of large ones
          c.gradient = how.between != "nearest" && (s.rank() == 3 || few);
          check(c);
          if (how.between == "nearest" && few) check_gradient(c, {0}, {});
        }
}

TEST(GridSample, TakesFreeBatchesAndPlaces) {
  LayerCall l("GridSample");
  const auto y = l.call({l.input({free_dim, 3, 4, 2}), l.input({free_dim, free_dim, 5, 2})});
  EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, free_dim, 5, 2}));
}

TEST(GridSample, AnInfinityLiesOutside) {
  LayerCall l("GridSample");
  const auto y = l.call({l.input({1, 2, 1}), l.input({1, 2, 1})});
  const float far = std::numeric_limits<float>::infinity();
  const auto out = l.run(y, {tensor<float>({1, 2, 1}, {5, 6}), tensor<float>({1, 2, 1}, {far, -far})});
  EXPECT_EQ(out[0].as<float>()[0], 0);
  EXPECT_EQ(out[0].as<float>()[1], 0);
}

TEST(GridSample, Refuses) {
  expect_config_refusal("GridSample", {{"interpolation", "quadratic"}}, Code::invalid_argument, "interpolation");
  expect_call_refusal("GridSample", Json::object(), {{2, 3, 4, 2}, {2, 5, 3}}, "expected 2 numbers for each place");
  expect_call_refusal("GridSample", Json::object(), {{2, 3, 4, 2}, {3, 5, 2}}, "expected a batch of 2");
  expect_call_refusal("GridSample", Json::object(), {{2, free_dim, 4, 2}, {2, 5, 2}}, "axis 1 should be known");
}

TEST(RoiAlign, Formula) {
  const Shape s{2, 5, 6, 3};
  const std::vector<float> boxes{0.3f, 0.2f, 4.4f, 3.7f, 1.15f, 2.3f, 1.45f, 2.5f, -3.2f, -2.1f, 9.3f, 8.2f};
  for (const bool aligned : {true, false})
    for (const char *mode : {"avg", "max"}) {
      const Json config{{"height", 2},          {"width", 3},         {"sampling_ratio", 2},
                        {"spatial_scale", 0.9}, {"aligned", aligned}, {"mode", mode}};
      SCOPED_TRACE(config.shown());
      Tensor images = make_tensor(DType::i64, {3});
      images.as<int64_t>()[0] = 1, images.as<int64_t>()[1] = 0, images.as<int64_t>()[2] = 1;
      Case c = layer_case("RoiAlign", config, {randoms({s})[0], tensor({3, 4}, boxes), images}, 0, [=](const auto &in) {
        Array y = zeros({3, 2, 3, s.last()});
        const auto along = [&](int64_t box, int axis, int64_t cell, int64_t cells, int64_t sample) {
          const double begin = in[1][box * 4 + 1 - axis] * 0.9 - (aligned ? 0.5 : 0),
                       end = in[1][box * 4 + 3 - axis] * 0.9 - (aligned ? 0.5 : 0);
          const double reach = aligned ? end - begin : std::max(end - begin, 1.0);
          return begin + reach / static_cast<double>(cells) *
                             (static_cast<double>(cell) + (static_cast<double>(sample) + 0.5) / 2);
        };
        for (int64_t i = 0; i < y.shape.elements(); ++i) {
          const int64_t ch = i % s.last(), column = i / s.last() % 3, row = i / s.last() / 3 % 2,
                        box = i / s.last() / 6;
          double sum = 0, most = -1e30;
          for (int64_t k = 0; k < 4; ++k) {
            const double at[] = {along(box, 0, row, 2, k / 2), along(box, 1, column, 3, k % 2)};
            double v = 0;
            if (at[0] >= -1 && at[0] <= 5 && at[1] >= -1 && at[1] <= 6)
              v = value(in[0], static_cast<int64_t>(in[2][box]), ch, {at[0], at[1]},
                        Sampling{"linear", "border", true});
            sum += v, most = std::max(most, v);
          }
          y[i] = std::string(mode) == "avg" ? sum / 4 : most;
        }
        return std::vector<Array>{y};
      });
      c.tolerance = 3e-5;
      c.gradient = false;  // by the boxes it bends where places change
      check(c);
      check_gradient(c, {0}, {});
    }
}

TEST(RoiAlign, Refuses) {
  expect_config_refusal("RoiAlign", {{"height", 2}, {"width", 2}, {"sampling_ratio", 0}}, Code::invalid_argument,
                        "\"sampling_ratio\": expected at least 1");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
