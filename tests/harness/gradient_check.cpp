// Central differences of a random projection, summed in double.
#include "harness/gradient_check.hpp"

#include <cmath>

#include "plan/differentiate.hpp"

namespace dl4::test {
namespace {

std::vector<Tensor> projections(const std::vector<Tensor> &outputs) {
  std::vector<Tensor> w;
  for (const Tensor &t : outputs) w.push_back(random(t.shape, 1000 + w.size(), 0.5, 1.5));
  return w;
}

double loss(const Program &p, const std::vector<Tensor> &inputs, const std::vector<Tensor> &weights) {
  double sum = 0;
  auto outputs = evaluate(p, inputs).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype != DType::f32) continue;
    auto y = values(outputs[i]), w = values(weights[i]);
    for (size_t j = 0; j < y.size(); ++j) sum += y[j] * w[j];
  }
  return sum;
}

std::vector<Tensor> gradients(const Build &build, const std::vector<Tensor> &inputs, const std::vector<int> &wrt,
                              const std::vector<Tensor> &weights, bool open) {
  auto with_loss = [&](Emit &e, const std::vector<Id> &x) {
    Id sum = e.scalar(0);
    auto outputs = build(e, x);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (e.dtype(outputs[i]) == DType::f32)
        sum = add(e, sum, reduce(e, ops::Reduce::sum, mul(e, outputs[i], e.constant(weights[i])), {}));
    std::vector<Id> of;
    for (int i : wrt) of.push_back(x[static_cast<size_t>(i)]);
    auto diff = plan::differentiate(e, sum, of);
    for (size_t i = 0; i < diff.size(); ++i)
      if (diff[i] == ops::none) diff[i] = fill(e, DType::f32, 0, of[i], e.rank(of[i]), {});
    return diff;
  };
  auto g = evaluate(program_of(with_loss, inputs, open), inputs).outputs;
  auto in_place = evaluate(program_of(with_loss, inputs, open), inputs, {},
                           {.threads = 2, .strict = true, .reversed = true, .in_place = true}).outputs;
  for (size_t i = 0; i < g.size(); ++i) expect_close(in_place[i], g[i], 1e-5, "gradients in slices, in place");
  return g;
}

}  // namespace

void check_gradient(const Build &build, const std::vector<Tensor> &inputs, const std::vector<int> &wrt,
                    Differences how) {
  Program p = program_of(build, inputs);
  auto weights = projections(evaluate(p, inputs).outputs);
  auto diff = gradients(build, inputs, wrt, weights, false);
  auto open = gradients(build, inputs, wrt, weights, true);
  double largest = 0;
  for (size_t k = 0; k < wrt.size(); ++k) {
    std::string where = text("gradient by input ", wrt[k]);
    const Tensor &x = inputs[static_cast<size_t>(wrt[k])];
    expect_close(open[k], diff[k], 1e-5, where + " with free axes");
    auto g = values(diff[k]);
    ASSERT_EQ(to_string(diff[k].shape), to_string(x.shape)) << where;
    // The loss at x + h d, as far as it is from the loss at x - h d.
    auto slope = [&](const std::vector<double> &direction) {
      double side[2];
      std::vector<Tensor> moved = inputs;
      for (int s = 0; s < 2; ++s) {
        moved[static_cast<size_t>(wrt[k])] = clone(x);
        float *at = moved[static_cast<size_t>(wrt[k])].as<float>();
        for (size_t j = 0; j < direction.size(); ++j)
          at[j] += static_cast<float>((s ? how.step : -how.step) * direction[j]);
        side[s] = loss(p, moved, weights);
      }
      return (side[1] - side[0]) / (2 * how.step);
    };
    auto compare = [&](const std::vector<double> &direction, const std::string &which) {
      double expected = slope(direction), got = 0;
      for (size_t j = 0; j < g.size(); ++j) got += g[j] * direction[j];
      largest = std::max(largest, std::abs(got));
      EXPECT_LE(std::abs(got - expected), how.tolerance * (1 + std::abs(expected)))
          << where << ", " << which << ": " << got << ", by differences " << expected;
    };
    for (size_t j = 0; j < std::min<size_t>(g.size(), 24); ++j) {
      std::vector<double> direction(g.size(), 0);
      direction[j] = 1;
      compare(direction, text("element ", j));
    }
    for (uint64_t seed : {11, 12}) {
      auto direction = values(random(x.shape, seed, -1, 1));
      // As long as one element's step.
      double length = 1e-12;
      for (double d : direction) length += d * d;
      for (double &d : direction) d /= std::sqrt(length);
      compare(direction, text("direction ", seed));
    }
  }
  if (how.moved) {
    EXPECT_GT(largest, 0) << "no gradient at all";
  }
}

}  // namespace dl4::test
