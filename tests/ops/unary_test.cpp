// unary: every function's values where a naive formula is short, and every gradient.
#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

// Away from the kinks of all functions; in the domain of the one.
Tensor points(Unary f) {
  std::vector<float> x{-2.31f, -1.73f, -0.83f, -0.27f, 0.27f, 0.62f, 1.37f, 2.21f, 6.4f, -6.3f, 3.3f};
  const auto any = [&](std::initializer_list<Unary> list) {
    return std::find(list.begin(), list.end(), f) != list.end();
  };
  for (float &v : x) {
    if (any({Unary::sqrt, Unary::rsqrt, Unary::log, Unary::log1p, Unary::acosh})) v = std::abs(v);
    if (f == Unary::acosh) v += 1;
    if (any({Unary::tan, Unary::asin, Unary::acos, Unary::atanh, Unary::erfinv})) v /= 8;
  }
  return tensor<float>({11, 1}, x);
}

std::array<float, 3> parameters(Unary f) {
  switch (f) {
    case Unary::clip:
      return {-1.5f, 1.5f, 0};
    case Unary::relu_general:
      return {0.1f, 3.0f, 0.5f};
    case Unary::scale_shift:
      return {-1.5f, 0.5f, 0};
    case Unary::threshold:
      return {0.45f, 0.3f, 0};
    default:
      return {0.4f, 0, 0};
  }
}

Build1 of(Unary f) {
  return [f](Emit &e, const auto &x) { return unary(e, f, x[0], parameters(f)); };
}

TEST(Unary, EveryFunctionHasItsGradient) {
  for (int i = 0; i < static_cast<int>(Unary::count_); ++i) {
    Unary f = static_cast<Unary>(i);
    SCOPED_TRACE(ops::info(f).name);
    bool flat = f == Unary::sign || f == Unary::floor || f == Unary::ceil || f == Unary::round;
    check_gradient(of(f), {points(f)}, {0}, {.tolerance = 5e-3, .moved = !flat});
  }
}

TEST(Unary, Values) {
  std::vector<std::pair<Unary, double (*)(double)>> table{
      {Unary::neg, [](double x) { return -x; }},
      {Unary::exp, [](double x) { return std::exp(x); }},
      {Unary::tanh, [](double x) { return std::tanh(x); }},
      {Unary::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Unary::relu, [](double x) { return std::max(x, 0.0); }},
      {Unary::leaky_relu, [](double x) { return x > 0 ? x : static_cast<double>(0.4f) * x; }},
      {Unary::scale_shift, [](double x) { return -1.5 * x + 0.5; }},
      {Unary::softplus, [](double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }}};
  for (auto [f, g] : table) {
    for (Shape s : {Shape{}, Shape{1}, Shape{3, 7}, Shape{5, 0, 2}, Shape{41, 33}}) {
      SCOPED_TRACE(ops::info(f).name);
      Tensor x = random(s, 3, -4, 4);
      check(of(f), {x}, naive(s, [&, g = g](const Index &i) { return g(at(x, i)); }));
    }
  }
  check(of(Unary::relu), {tensor<float>({2}, {NAN, INFINITY})}, tensor<float>({2}, {NAN, INFINITY}));
}

TEST(Unary, Refuses) {
  check_refused(of(Unary::tanh), {Operand{DType::i32, {3}}}, Code::invalid_argument, "tanh expects float32, got int32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
