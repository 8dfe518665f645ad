// argmax: the first of the largest.
#include <cmath>
#include <limits>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 along(int axis) {
  return [axis](Emit &e, const auto &x) { return argmax(e, x[0], axis); };
}

TEST(Argmax, AlongEveryAxis) {
  Tensor x = random({5, 6, 37}, 1);
  for (int axis : {0, 1, 2, -1})
    check(along(axis), {x}, naive(DType::i32, x.shape.without(axis), [&](Index i) {
            int64_t best = 0;
            i.insert(i.begin() + x.shape.axis(axis), 0);
            auto value = [&](int64_t k) { return i[static_cast<size_t>(x.shape.axis(axis))] = k, at(x, i); };
            for (int64_t k = 1; k < x.shape[axis]; ++k)
              if (value(k) > value(best)) best = k;
            return static_cast<double>(best);
          }));
  check(along(0), {tensor<float>({4}, {1, 3, 3, 2})}, tensor<int32_t>({}, {1}));
  check(along(1), {make_tensor(DType::f32, {0, 3})}, make_tensor(DType::i32, {0}));
}

TEST(Argmax, OfIntegers) {
  constexpr int64_t high = std::numeric_limits<int64_t>::max();
  check(along(0), {tensor<int64_t>({4}, {high - 1, high, high, 3})}, tensor<int32_t>({}, {1}));
  check(along(1), {tensor<int32_t>({2, 3}, {-5, -1, -1, 7, 0, 7})}, tensor<int32_t>({2}, {1, 0}));
  check(along(0), {tensor<int32_t>({2, 3}, {-5, -1, -1, 7, 0, -1})}, tensor<int32_t>({3}, {1, 1, 0}));
}

TEST(Argmax, Refuses) {
  check_refused(along(1), {Shape{2, 0}}, Code::shape_mismatch, "argmax over the empty axis 1 of (2, 0)");
  check_refused(along(0), {Operand{DType::u8, {2}}}, Code::invalid_argument, "argmax expects float32, int32 or int64");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
