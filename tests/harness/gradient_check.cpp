// Central differences of a random projection, summed in double.
#include "harness/gradient_check.hpp"

#include <algorithm>
#include <cmath>

#include "plan/differentiate.hpp"

namespace dl4::test {

Build gradients(const Build &build, size_t inputs, const std::vector<int> &wrt) {
  return [=](Emit &e, const std::vector<Id> &x) {
    Id sum = e.scalar(0);
    auto outputs = build(e, {x.begin(), x.begin() + static_cast<std::ptrdiff_t>(inputs)});
    for (size_t i = 0; i < outputs.size(); ++i)
      if (e.dtype(outputs[i]) == DType::f32)
        sum = add(e, sum, reduce(e, ops::Reduce::sum, mul(e, outputs[i], x[inputs + i]), {}));
    std::vector<Id> of;
    for (int i : wrt) of.push_back(x[static_cast<size_t>(i)]);
    auto diff = plan::differentiate(e, sum, of);
    for (size_t i = 0; i < diff.size(); ++i) {
      EXPECT_NE(diff[i], ops::none) << "no gradient by input " << wrt[i];
      if (diff[i] == ops::none) diff[i] = fill(e, DType::f32, 0, of[i], e.rank(of[i]), {});
    }
    return diff;
  };
}

void check_gradient(const Case &c, const std::vector<int> &wrt, Differences how) {
  Program p = program_of(c.build, c.inputs);
  Case g = c;
  g.build = gradients(c.build, c.inputs.size(), wrt);
  g.tolerance = how.tolerance;
  std::vector<Array> weights;
  for (const Tensor &t : evaluate(p, c.inputs).outputs) {
    g.inputs.push_back(random(t.shape, 1000 + weights.size(), 0.5, 1.5));
    weights.push_back({t.shape, values(g.inputs.back())});
    if (t.dtype != DType::f32) weights.back() = zeros(t.shape);
  }
  auto loss = [&](const std::vector<Array> &in) {
    std::vector<Array> y;
    if (c.reference) {
      y = c.reference(in);
    } else {
      std::vector<Tensor> x;
      for (size_t i = 0; i < in.size(); ++i) x.push_back(to_tensor(c.inputs[i].dtype, in[i]));
      y = arrays(evaluate(p, x).outputs);
    }
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i)
      for (size_t j = 0; j < y[i].v.size(); ++j) sum += y[i].v[j] * weights[i].v[j];
    return sum;
  };
  std::vector<Tensor> expected;
  auto in = arrays(c.inputs);
  for (int k : wrt) {
    Array slopes = in[static_cast<size_t>(k)];
    for (size_t j = 0; j < slopes.v.size(); ++j) {
      double &x = in[static_cast<size_t>(k)].v[j], at = x, side[2];
      for (int s : {0, 1}) {
        x = at + (s ? how.step : -how.step);
        side[s] = loss(in);
      }
      x = at;
      slopes.v[j] = (side[1] - side[0]) / (2 * how.step);
    }
    expected.push_back(to_tensor(DType::f32, slopes));
  }
  double largest = 0;
  for (const Tensor &t : run_all_ways(g, expected))
    for (double v : values(t)) largest = std::max(largest, std::abs(v));
  EXPECT_TRUE(largest > 0 || !how.moved) << "no gradient at all";
}

void check_gradient(const Case &c) {
  std::vector<int> wrt;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i].dtype == DType::f32) wrt.push_back(static_cast<int>(i));
  check_gradient(c, wrt, {.step = 1e-5, .tolerance = 10 * c.tolerance, .moved = false});
}

void check(const Case &c) {
  std::vector<Tensor> expected;
  for (const Array &a : c.reference(arrays(c.inputs))) expected.push_back(to_tensor(DType::f32, a));
  run_all_ways(c, expected);
  if (c.gradient && !testing::Test::HasFailure()) check_gradient(c);
}

}  // namespace dl4::test
