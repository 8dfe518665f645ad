// ctc: against the sum over all paths, one by one.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

const Build1 build = [](Emit &e, const auto &x) { return ctc(e, x[0], x[1]); };

// What is left of a path: repetitions once, then no blanks.
std::vector<int64_t> collapsed(const std::vector<int64_t> &path) {
  std::vector<int64_t> left;
  for (size_t t = 0; t < path.size(); ++t)
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) left.push_back(path[t]);
  return left;
}

// Minus the logarithm of the probability of all paths that leave these labels.
double over_all_paths(const Tensor &x, int64_t item, const std::vector<int64_t> &labels) {
  const int64_t steps = x.shape[1], classes = x.shape[2];
  std::vector<int64_t> path(static_cast<size_t>(steps), 0);
  double sum = 0;
  for (;;) {
    if (collapsed(path) == labels) {
      double p = 1;
      for (int64_t t = 0; t < steps; ++t) {
        double all = 0;
        for (int64_t c = 0; c < classes; ++c) all += std::exp(at(x, {item, t, c}));
        p *= std::exp(at(x, {item, t, path[static_cast<size_t>(t)]})) / all;
      }
      sum += p;
    }
    size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) return -std::log(sum);
  }
}

Tensor expected(const Tensor &x, const Tensor &labels) {
  return naive({x.shape[0]}, [&](const Index &i) {
    std::vector<int64_t> list;
    for (int64_t k = 0; k < labels.shape[1]; ++k)
      if (at(labels, {i[0], k}) != 0) list.push_back(static_cast<int64_t>(at(labels, {i[0], k})));
    return over_all_paths(x, i[0], list);
  });
}

TEST(Ctc, IsTheSumOverAllPaths) {
  const Tensor labels = tensor<int32_t>({6, 3}, {1, 2, 0, 2, 2, 0, 1, 2, 1, 2, 0, 0, 0, 0, 0, 1, 1, 2});
  for (int64_t steps : {4, 6}) {
    const Tensor x = random({6, steps, 3}, 3);
    check(build, {x, labels}, expected(x, labels));
  }
  const Tensor one = random({2, 1, 3}, 1), none = make_zeros(DType::i32, {2, 0});
  check(build, {one, tensor<int32_t>({2, 2}, {2, 0, 0, 0})}, expected(one, tensor<int32_t>({2, 2}, {2, 0, 0, 0})));
  check(build, {one, none}, expected(one, none));
  check(build, {make_zeros(DType::f32, {0, 3, 2}), make_zeros(DType::i32, {0, 2})}, make_zeros(DType::f32, {0}));
}

// Labels of probability 0 cost what an end at another place does.
TEST(Ctc, WithoutAPathItIsLargeButFinite) {
  const Tensor x = make_zeros(DType::f32, {3, 2, 4}), labels = tensor<int32_t>({3, 3}, {1, 2, 3, 1, 1, 0, 1, 2, 0});
  const Tensor loss = evaluate(program_of(one(build), {x, labels}), {x, labels}).outputs[0];
  EXPECT_NEAR(at(loss, {0}), 706.8936, 3);
  EXPECT_NEAR(at(loss, {1}), 706.8936, 3);
  EXPECT_NEAR(at(loss, {2}), std::log(16), 1e-5);
  const Tensor empty = make_zeros(DType::f32, {2, 0, 4}), few = tensor<int32_t>({2, 1}, {0, 2});
  check(build, {empty, few}, tensor<float>({2}, {0, 706.893555f}));
}

TEST(Ctc, Gradient) {
  const Tensor labels = tensor<int32_t>({4, 3}, {1, 2, 0, 3, 3, 0, 0, 0, 0, 3, 2, 1});
  check_gradient(build, {random({4, 6, 4}, 3), labels});
  check_gradient(build, {random({4, 3, 4}, 5), tensor<int32_t>({4, 1}, {1, 2, 3, 0})});
}

TEST(Ctc, FaultsOutOfRange) {
  for (int32_t wrong : {-1, 4}) {
    const Tensor x = random({2, 5, 4}, 1), labels = tensor<int32_t>({2, 2}, {1, 0, wrong, 2});
    const auto r = evaluate(program_of(one(build), {x, labels}), {x, labels});
    EXPECT_EQ(r.fault, kernels::Fault::index_out_of_range);
    EXPECT_EQ(r.value, wrong);
  }
}

TEST(Ctc, Refuses) {
  const Operand labels{DType::i32, {2, 3}};
  check_refused(build, {Operand{DType::f32, {2, 5}}, labels}, Code::shape_mismatch,
                "ctc expects (batch, steps, classes)");
  check_refused(build, {Operand{DType::f32, {3, 5, 4}}, labels}, Code::shape_mismatch,
                "ctc expects labels (batch, length) for (3, 5, 4), got (2, 3)");
  check_refused(build, {Operand{DType::f32, {2, 5, 4}}, Operand{DType::i32, {2}}}, Code::shape_mismatch,
                "ctc expects lab");
  check_refused(build, {Operand{DType::f32, {2, 5, 0}}, labels}, Code::shape_mismatch, "at least one class");
  check_refused(build, {Operand{DType::f32, {2, 5, 4}}, Operand{DType::f32, {2, 3}}}, Code::invalid_argument,
                "the labels of ctc expects int32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
