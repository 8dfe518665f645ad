// straight_through: the value of one, the gradient of the other.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

const Build1 build = [](Emit &e, const auto &x) {
  return unary(e, Unary::square, straight_through(e, unary(e, Unary::exp, x[0]), x[1]));
};

TEST(StraightThrough, HasTheValueOfTheOneAndTheGradientOfTheOther) {
  const std::vector<Tensor> in{random({3, 4}, 1), random({3, 4}, 2)};
  check(build, in, naive({3, 4}, [&](const auto &i) { return std::exp(2 * at(in[0], i)); }));
  const Build by_the_other = gradients(one(build), 2, {1});
  const std::vector<Tensor> with{in[0], in[1], random({3, 4}, 3)};
  check(by_the_other, with,
        {naive({3, 4}, [&](const auto &i) { return at(with[2], i) * 2 * std::exp(at(in[0], i)); })});
}

TEST(StraightThrough, Refuses) {
  check_refused([](Emit &e, const auto &x) { return straight_through(e, x[0], x[1]); }, {Shape{2, 3}, Shape{3, 2}},
                Code::shape_mismatch, "straight_through expects equal shapes");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
