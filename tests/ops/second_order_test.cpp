// Gradients of gradients: by the inputs and by the gradient that arrives.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

// Of the square of one output: its gradients by the inputs `wrt`, differentiated by these inputs and by the projection
// behind them.
// known: inputs, and projections behind them, whose dims are all known when the Program is written.
void check_second(const Build1 &build, std::vector<Tensor> inputs, const std::vector<int> &wrt, const Shape &output,
                  Differences how = {}, const std::vector<int> &known = {}) {
  std::vector<int> all = wrt;
  all.push_back(static_cast<int>(inputs.size()));
  const Build1 square = [build](Emit &e, const auto &v) { return unary(e, Unary::square, build(e, v)); };
  const Build first = gradients(one(square), inputs.size(), wrt);
  inputs.push_back(random(output, 77, 0.5, 1.5));
  check_gradient({.build = first, .inputs = inputs, .constants = known}, all, how);
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

TEST(SecondOrder, EveryFunction) {
  for (int i = 0; i < static_cast<int>(Unary::count_); ++i) {
    const Unary f = static_cast<Unary>(i);
    SCOPED_TRACE(ops::info(f).name);
    std::vector<float> x{-2.31f, -1.73f, -0.83f, -0.27f, 0.27f, 0.62f, 1.37f, 2.21f, 3.3f};
    if (f == Unary::sqrt || f == Unary::rsqrt || f == Unary::log || f == Unary::log1p)
      for (float &v : x) v = std::abs(v) + 0.3f;
    if (f == Unary::acosh)
      for (float &v : x) v = std::abs(v) + 1.3f;
    if (f == Unary::tan || f == Unary::asin || f == Unary::acos || f == Unary::atanh || f == Unary::erfinv)
      for (float &v : x) v *= 0.25f;
    const bool flat = f == Unary::sign || f == Unary::floor || f == Unary::ceil || f == Unary::round;
    check_second([f](Emit &e, const auto &v) { return unary(e, f, v[0], parameters(f)); }, {tensor<float>({9}, x)}, {0},
                 {9}, {.tolerance = 8e-3, .moved = !flat});
  }
  const auto elu = [](Emit &e, const auto &v) { return unary(e, Unary::elu, v[0], {-0.5f, 0, 0}); };
  check_second(elu, {tensor<float>({4}, {-1.2f, -0.3f, 0.4f, 2})}, {0}, {4});
}

TEST(SecondOrder, FunctionsOfTwo) {
  for (Binary f : {Binary::mul, Binary::div, Binary::pow, Binary::atan2, Binary::squared_difference, Binary::max}) {
    SCOPED_TRACE(to_string(f));
    check_second([f](Emit &e, const auto &v) { return binary(e, f, v[0], v[1]); },
                 {random({2, 3}, 1, 0.5, 1), random({3}, 2, 1.1, 2)}, {0, 1}, {2, 3}, {.tolerance = 8e-3});
  }
}

TEST(SecondOrder, Reductions) {
  for (Reduce f : {Reduce::mean, Reduce::sum_squares, Reduce::prod, Reduce::max}) {
    SCOPED_TRACE(to_string(f));
    check_second([f](Emit &e, const auto &v) { return reduce(e, f, v[0], {1}); }, {random({2, 3, 2}, 3, 0.4, 1.6)}, {0},
                 {2, 2}, {.tolerance = 8e-3});
  }
}

TEST(SecondOrder, SoftmaxAndItsKin) {
  for (auto f : {ops::softmax, ops::log_softmax})
    check_second([f](Emit &e, const auto &v) { return f(e, v[0], 0); }, {random({4, 3}, 5)}, {0}, {4, 3});
  check_second([](Emit &e, const auto &v) { return sparsemax(e, v[0], -1); },
               {tensor<float>({2, 3}, {0.1f, 0.4f, -0.3f, 0.6f, 0.2f, -1})}, {0}, {2, 3});
}

TEST(SecondOrder, Normalize) {
  for (const bool center : {false, true})
    for (const int axes : {1, 2}) {
      SCOPED_TRACE(text(center, ' ', axes));
      const Tensor x = random({3, 2, 4}, 7);
      const Shape row = x.shape.last(axes);
      check_second([=](Emit &e, const auto &v) { return normalize(e, v[0], axes, 1e-1, center, v[1], v[2]); },
                   {x, random(row, 8, 0.5, 1.5), random(row, 9)}, {0, 1, 2}, x.shape, {.tolerance = 1e-2});
      check_second([=](Emit &e, const auto &v) { return normalize(e, v[0], axes, 1e-1, center); }, {x}, {0}, x.shape,
                   {.tolerance = 1e-2});
    }
}

TEST(SecondOrder, Products) {
  check_second([](Emit &e, const auto &v) { return matmul(e, v[0], v[1], {}, v[2]); },
               {random({4, 3}, 1), random({3, 2}, 2), random({2}, 3)}, {0, 1, 2}, {4, 2});
  const Conv how{.strides = {2, 1}, .dilation = {1, 1}, .padding = Padding::same};
  check_second([how](Emit &e, const auto &v) { return conv(e, v[0], v[1], v[2], how); },
               {random({2, 5, 4, 2}, 1, -1, 1), random({3, 3, 2, 3}, 2, -1, 1), random({3}, 3)}, {0, 1, 2},
               {2, 3, 4, 3}, {.tolerance = 2e-2}, {1, 2, 5, 6});
  check_second(
      [](Emit &e, const auto &v) {
        return unary(e, Unary::tanh, conv_transpose(e, v[0], v[1], {}, {-1, -1}));
      },
      {random({1, 3, 3, 2}, 1, -1, 1), random({2, 2, 3, 2}, 2, -1, 1)}, {0, 1}, {1, 4, 4, 3}, {.tolerance = 1e-2},
      {1, 4});
}

TEST(SecondOrder, WhatMovesElements) {
  const Tensor x = random({4, 3}, 1);
  check_second([](Emit &e, const auto &v) { return slice(e, v[0], 0, 1, 2); }, {x}, {0}, {2, 3});
  check_second([](Emit &e, const auto &v) { return slice(e, v[0], 0, -2, -1); }, {x}, {0}, {2, 3});
  check_second([](Emit &e, const auto &v) { return pad(e, v[0], 1, 1, -1); }, {x}, {0}, {4, 3});
  check_second(
      [](Emit &e, const auto &v) {
        return concat(e, {v[0], v[1]}, 1);
      },
      {x, random({4, 2}, 2)}, {0, 1}, {4, 5});
  check_second([](Emit &e, const auto &v) { return view(e, v[0], 2, {2, 3}); }, {random({12}, 2)}, {0}, {2, 3});
  check_second(
      [](Emit &e, const auto &v) {
        return transpose(e, reshape(e, v[0], 0, {2, 6}), {1, 0});
      },
      {x}, {0}, {6, 2});
  check_second([](Emit &e, const auto &v) { return gather(e, v[0], v[1]); }, {x, tensor<int32_t>({3}, {2, 0, 2})}, {0},
               {3, 3});
  check_second([](Emit &e, const auto &v) { return pick(e, v[0], v[1]); }, {x, tensor<int32_t>({4}, {2, 0, 2, 1})}, {0},
               {4});
  check_second([](Emit &e, const auto &v) { return broadcast_like(e, v[0], v[1]); }, {random({3}, 3), x}, {0}, {4, 3});
}

TEST(SecondOrder, Pooling) {
  const Pool average{.average = true};
  check_second([&](Emit &e, const auto &v) { return pool(e, v[0], average); }, {random({1, 4, 4, 2}, 1)}, {0},
               {1, 2, 2, 2});
}

// A rule that is written with other ops can be differentiated like them.
TEST(SecondOrder, AndAThirdTime) {
  for (auto f : {ops::softmax, ops::log_softmax}) {
    const Build first = gradients(one([f](Emit &e, const auto &v) { return f(e, v[0], -1); }), 1, {0});
    const Build second = gradients(first, 2, {0});
    check_gradient(second, {random({2, 3}, 1), random({2, 3}, 2), random({2, 3}, 3)}, {0}, {.tolerance = 1e-2});
  }
  const Build first = gradients(one([](Emit &e, const auto &v) { return unary(e, Unary::tanh, v[0]); }), 1, {0});
  check_gradient(gradients(first, 2, {0}), {random({5}, 1), random({5}, 2), random({5}, 3)}, {0}, {.tolerance = 1e-2});
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
