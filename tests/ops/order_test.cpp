// sort and cumulate.
#include <cmath>

#include "harness/gradient_check.hpp"
#include "ops/ops.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

TEST(Sort, OfEqualsTheFirstAndNaNLast) {
  const auto sorted = [](bool down) -> Build {
    return [down](Emit &e, const auto &x) {
      const Sorted s = sort(e, x[0], down);
      return std::vector<Id>{s.y, s.places};
    };
  };
  const float nan = std::nanf("");
  const Tensor x = tensor<float>({2, 4}, {3, 1, 3, -INFINITY, nan, 0, 2, 0});
  check(sorted(false), {x},
        {tensor<float>({2, 4}, {-INFINITY, 1, 3, 3, 0, 0, 2, nan}), tensor<int32_t>({2, 4}, {3, 1, 0, 2, 1, 3, 2, 0})});
  check(sorted(true), {x},
        {tensor<float>({2, 4}, {3, 3, 1, -INFINITY, 2, 0, 0, nan}), tensor<int32_t>({2, 4}, {0, 2, 1, 3, 2, 1, 3, 0})});
  // One of the two alone.
  check([](Emit &e, const auto &v) { return sort(e, v[0], false).y; }, {x},
        tensor<float>({2, 4}, {-INFINITY, 1, 3, 3, 0, 0, 2, nan}));
  check([](Emit &e, const auto &v) { return sort(e, v[0], false).places; }, {x},
        tensor<int32_t>({2, 4}, {3, 1, 0, 2, 1, 3, 2, 0}));
  check(sorted(true), {make_tensor(DType::f32, {3, 0})},
        {make_tensor(DType::f32, {3, 0}), make_tensor(DType::i32, {3, 0})});
  check_refused([](Emit &e, const auto &v) { return sort(e, v[0], false).y; }, std::vector<Operand>{{DType::u8, {2}}},
                Code::invalid_argument, "expects float32, int32 or int64");
}

TEST(Sort, IntegersWhole) {
  const auto sorted = [](bool down) -> Build {
    return [down](Emit &e, const auto &x) {
      const Sorted s = sort(e, x[0], down);
      return std::vector<Id>{s.y, s.places};
    };
  };
  const int64_t large = int64_t{1} << 53;
  check(sorted(true), {tensor<int64_t>({3}, {large, large + 1, -large})},
        {tensor<int64_t>({3}, {large + 1, large, -large}), tensor<int32_t>({3}, {1, 0, 2})});
  check(sorted(false), {tensor<int32_t>({4}, {7, -1, 7, 0})},
        {tensor<int32_t>({4}, {-1, 0, 7, 7}), tensor<int32_t>({4}, {1, 3, 0, 2})});
}

TEST(Sort, GradientGoesWhereTheElementCameFrom) {
  check_gradient(one([](Emit &e, const auto &x) { return mul(e, sort(e, x[0], true).y, x[1]); }),
                 {tensor<float>({2, 3}, {0.3f, -1, 2, 0, 5, -2}), tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
}

TEST(Cumulate, FromEitherEndWithAndWithoutItself) {
  const auto run = [](ops::Cumulate how, int axis) -> Build1 {
    return [=](Emit &e, const auto &x) { return cumulate(e, x[0], axis, how); };
  };
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check(run({}, 1), {x}, tensor<float>({2, 3}, {1, 3, 6, 4, 9, 15}));
  check(run({}, 0), {x}, tensor<float>({2, 3}, {1, 2, 3, 5, 7, 9}));
  check(run({.reverse = true}, -1), {x}, tensor<float>({2, 3}, {6, 5, 3, 15, 11, 6}));
  check(run({.exclusive = true}, 1), {x}, tensor<float>({2, 3}, {0, 1, 3, 0, 4, 9}));
  check(run({.exclusive = true, .reverse = true}, 1), {x}, tensor<float>({2, 3}, {5, 3, 0, 11, 6, 0}));
  check(run({.product = true}, 1), {x}, tensor<float>({2, 3}, {1, 2, 6, 4, 20, 120}));
  check(run({.product = true, .exclusive = true}, 1), {x}, tensor<float>({2, 3}, {1, 1, 2, 1, 4, 20}));
  check(run({}, 0), {make_tensor(DType::f32, {0, 3})}, make_tensor(DType::f32, {0, 3}));
  const int64_t large = int64_t{1} << 53;
  check(run({}, 0), {tensor<int64_t>({3}, {large, 1, large})}, tensor<int64_t>({3}, {large, large + 1, 2 * large + 1}));
  check(run({}, 0), {tensor<int32_t>({2}, {INT32_MAX, 1})}, tensor<int32_t>({2}, {INT32_MAX, INT32_MIN}));
  check(run({.product = true, .reverse = true}, 0), {tensor<int32_t>({3}, {2, 3, 4})},
        tensor<int32_t>({3}, {24, 12, 4}));
  for (const bool product : {false, true})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        check_gradient(one(run({product, exclusive, reverse}, 1)), {tensor<float>({2, 3}, {0.5f, 2, -1, 1, 0.3f, 2})});
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
