// normalize: rows over one axis and several, with and without scale, shift and mean.
#include "ops/ops.hpp"

#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

std::vector<Array> reference(const std::vector<Array> &in, int axes, double epsilon, bool center, bool scaled,
                             bool shifted) {
  const Array &x = in[0];
  Array y = zeros(x.shape);
  const int64_t n = x.shape.elements(x.shape.rank() - axes, x.shape.rank());
  for (int64_t begin = 0; begin < x.shape.elements(); begin += n) {
    double mean = 0, variance = 0;
    const auto size = static_cast<double>(n);
    for (int64_t i = 0; i < n && center; ++i) mean += x[begin + i] / size;
    for (int64_t i = 0; i < n; ++i) variance += (x[begin + i] - mean) * (x[begin + i] - mean) / size;
    for (int64_t i = 0; i < n; ++i) {
      double v = (x[begin + i] - mean) / std::sqrt(variance + epsilon);
      if (scaled) v *= in[1][i];
      if (shifted) v += in[scaled ? 2 : 1][i];
      y[begin + i] = v;
    }
  }
  return {y};
}

TEST(Normalize, ValuesAndGradients) {
  struct Which {
    bool center, scaled, shifted;
  };
  for (auto [center, scaled, shifted] : {Which{true, true, true}, Which{true, false, true}, Which{true, false, false},
                                         Which{false, true, false}, Which{false, false, false}})
    for (auto [shape, axes] : std::vector<std::pair<Shape, int>>{
             {{4, 7}, 1}, {{3, 2, 33}, 1}, {{2, 3, 5}, 2}, {{2, 3, 5}, 3}, {{5, 1}, 1}, {{2, 150}, 1}, {{6}, 1}}) {
      SCOPED_TRACE(text(shape, " over ", axes, center, scaled, shifted));
      std::vector<Tensor> inputs{random(shape, 1, -2, 3)};
      if (scaled) inputs.push_back(random(shape.last(axes), 2));
      if (shifted) inputs.push_back(random(shape.last(axes), 3));
      Case c;
      // Names that clang 14 captures.
      c.build = one([axes = axes, center = center, scaled = scaled, shifted = shifted](Emit &e, const auto &v) {
        return normalize(e, v[0], axes, 0.1, center, scaled ? v[1] : none, shifted ? v[scaled ? 2 : 1] : none);
      });
      c.inputs = inputs;
      c.free_axes = {};
      c.reference = [axes = axes, center = center, scaled = scaled, shifted = shifted](const std::vector<Array> &in) {
        return reference(in, axes, 0.1, center, scaled, shifted);
      };
      check(c);
    }
}

TEST(Normalize, LongRowsAndNone) {
  for (const Shape &shape : {Shape{2, 5000}, Shape{0, 4}, Shape{3, 0}}) {
    Tensor x = random(shape, 4, -1, 9);
    const Array y = shape.elements() ? reference(arrays({x}), 1, 1e-3, true, false, false)[0] : zeros(shape);
    check([](Emit &e, const auto &v) { return normalize(e, v[0], 1, 1e-3, true); }, {x}, to_tensor(DType::f32, y),
          1e-5);
  }
}

// A mean far from 0 costs no more than its own rounding.
TEST(Normalize, ALargeMean) {
  Tensor x = random({3, 40}, 5, 1000, 1001);
  const Array y = reference(arrays({x}), 1, 1e-3, true, false, false)[0];
  check([](Emit &e, const auto &v) { return normalize(e, v[0], 1, 1e-3, true); }, {x}, to_tensor(DType::f32, y), 2e-3);
}

TEST(Normalize, ANaNStaysInItsRow) {
  Tensor x = random({3, 5}, 6);
  x.as<float>()[7] = NAN;
  const std::vector<double> y =
      values(run_all_ways(one([](Emit &e, const auto &v) { return normalize(e, v[0], 1, 1e-3, true); }), {x})[0]);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(std::isnan(y[i]), i / 5 == 1) << i;
}

TEST(Normalize, Refuses) {
  const Operand x{DType::f32, {4, 3}};
  auto emit = [](int axes) {
    return [=](Emit &e, const auto &v) { return normalize(e, v[0], axes, 1e-3, true, v.size() > 1 ? v[1] : none); };
  };
  check_refused(emit(1), {x, Operand{DType::f32, {4}}}, Code::shape_mismatch, "gamma and beta of shape (3,)");
  check_refused(emit(3), {x}, Code::invalid_argument, "normalize can't take 3 axes");
  check_refused(emit(1), {Operand{DType::i32, {4, 3}}}, Code::invalid_argument, "normalize expects float32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
