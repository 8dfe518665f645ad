// hardmax: the first of the largest; its gradient is softmax's.
#include "ops/ops.hpp"

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

TEST(Hardmax, FirstOfTheLargest) {
  auto along = [](int axis) { return [axis](Emit &e, const auto &in) { return hardmax(e, in[0], axis); }; };
  const Tensor x = tensor<float>({2, 3}, {1, 5, 5, -2, -7, -2});
  check(along(-1), {x}, tensor<float>({2, 3}, {0, 1, 0, 1, 0, 0}));
  check(along(0), {x}, tensor<float>({2, 3}, {1, 1, 1, 0, 0, 0}));
  check(along(1), {random({4, 1, 3}, 1)}, naive({4, 1, 3}, [](const auto &) { return 1; }));
  for (const Shape &s : {Shape{0, 3}, Shape{3, 0}}) check(along(-1), {random(s, 1)}, random(s, 1));
}

TEST(Hardmax, GradientIsSoftmaxs) {
  const std::vector<Tensor> in{random({3, 5}, 1), random({3, 5}, 2)};
  auto by = [&](auto f) {
    auto d = gradients(one([f](Emit &e, const auto &x) { return f(e, x[0], -1); }), 1, {0});
    return evaluate(program_of(d, in), in).outputs[0];
  };
  expect_close(by(hardmax), by(softmax), 1e-6, "straight through");
}

TEST(Hardmax, Refuses) {
  check_refused([](Emit &e, const auto &in) { return hardmax(e, in[0]); }, {ops::Operand{DType::i32, {2, 3}}},
                Code::invalid_argument, "hardmax expects float32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
