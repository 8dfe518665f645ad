// one_hot and causal_mask.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

TEST(OneHot, Rows) {
  for (DType t : {DType::i32, DType::i64, DType::u8, DType::f32}) {
    Tensor x = random({3, 40}, 1, 0, 6.99, t);
    check([](Emit &e, const auto &v) { return one_hot(e, v[0], 5); }, {x}, naive({3, 40, 5}, [&](const Index &i) {
            return double(std::trunc(at(x, {i[0], i[1]})) == static_cast<double>(i[2]));
          }), 0);
  }
  check([](Emit &e, const auto &v) { return one_hot(e, v[0], 2); }, {tensor<int32_t>({2}, {-1, 2})},
        make_zeros(DType::f32, {2, 2}));
  check([](Emit &e, const auto &v) { return one_hot(e, v[0], 0); }, {tensor<int32_t>({2}, {0, 1})},
        make_zeros(DType::f32, {2, 0}));
}

TEST(OneHot, Refuses) {
  check_refused([](Emit &e, const auto &v) { return one_hot(e, v[0], -2); }, {Operand{DType::i32, {3}}},
                Code::invalid_argument, "one_hot: depth is -2");
}

TEST(CausalMask, FromTheTopLeft) {
  for (Shape s : {Shape{2, 5, 5}, Shape{1, 3, 7}, Shape{1, 7, 3}, Shape{70, 90}, Shape{2, 0, 3}, Shape{2, 3, 0}})
    check([](Emit &e, const auto &v) { return causal_mask(e, v[0]); }, {random(s, 1)},
          naive(DType::boolean, s.last(2), [](const Index &i) { return double(i[1] <= i[0]); }), 0);
  check_refused([](Emit &e, const auto &v) { return causal_mask(e, v[0]); }, {Shape{3}}, Code::shape_mismatch,
                "causal_mask wants scores");
}

}  // namespace
}  // namespace dl4::test
