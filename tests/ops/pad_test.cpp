// pad, flip, repeat: places of an axis added, left out, turned round, repeated.
#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

TEST(Pad, AddsAndCutsOff) {
  for (const Shape &s : {Shape{4, 3, 5}, Shape{2, 7}, Shape{0, 3, 2}, Shape{2, 3, 0}})
    for (auto [before, after] :
         {std::pair<int64_t, int64_t>{1, 2}, {0, 3}, {2, 0}, {-1, 0}, {0, -1}, {-1, -1}, {2, -1}}) {
      const Tensor x = random(s, 1);
      for (int axis = 0; axis < s.rank(); ++axis) {
        const int64_t n = s[axis];
        if (std::max<int64_t>(-before, 0) + std::max<int64_t>(-after, 0) > n) continue;
        auto build = [=, before = before, after = after](Emit &e, const auto &v) {
          return pad(e, v[0], axis, before, after);
        };
        check(build, {x},
              naive(s.with(axis, n + before + after),
                    [&, before = before](Index i) {
                      int64_t &at = i[static_cast<size_t>(axis)];
                      at -= before;
                      return at < 0 || at >= n ? 0 : dl4::test::at(x, i);
                    }),
              0);
        if (s.elements() && n + before + after > 0) check_gradient(build, {x});
      }
    }
}

TEST(Pad, FreeDimsAndRefusals) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {-1, 4});
  EXPECT_EQ(to_string(e.shape(pad(e, x, 0, 2, 3))), "(?, 4)");
  EXPECT_EQ(pad(e, x, 1, 0, 0), x);
  check_refused([](Emit &f, const auto &v) { return pad(f, v[0], 1, -2, -3); }, {Shape{1, 4}}, Code::shape_mismatch,
                "pad: 2 and 3 can't be cut off axis 1 of (1, 4)");
  check_refused([](Emit &f, const auto &v) { return pad(f, v[0], 1, int64_t{1} << 40, 0); }, {Shape{1, 4}},
                Code::invalid_argument, "pad: ");
}

TEST(Flip, EveryAxis) {
  for (DType type : {DType::f32, DType::i64, DType::boolean}) {
    const Tensor x = random({4, 3, 5}, 1, -2, 2, type);
    for (int axis = 0; axis < 3; ++axis) {
      auto build = [=](Emit &e, const auto &v) { return flip(e, v[0], axis); };
      check(build, {x},
            naive(type, x.shape,
                  [&](Index i) {
                    int64_t &at = i[static_cast<size_t>(axis)];
                    at = x.shape[axis] - 1 - at;
                    return dl4::test::at(x, i);
                  }),
            0);
      if (type == DType::f32) check_gradient(build, {x});
    }
  }
  check([](Emit &e, const auto &v) { return flip(e, v[0], 1); }, {random({2, 0, 3}, 1)}, random({2, 0, 3}, 1));
}

TEST(Repeat, Copies) {
  for (DType type : {DType::f32, DType::i32, DType::boolean}) {
    const Tensor x = random({3, 2, 4}, 1, -2, 2, type);
    for (int axis = 0; axis < 3; ++axis)
      for (int64_t times : {1, 2, 5}) {
        auto build = [=](Emit &e, const auto &v) { return repeat(e, v[0], axis, times); };
        check(build, {x},
              naive(type, x.shape.with(axis, x.shape[axis] * times),
                    [&](Index i) {
                      i[static_cast<size_t>(axis)] /= times;
                      return dl4::test::at(x, i);
                    }),
              0);
        if (type == DType::f32) check_gradient(build, {x});
      }
  }
}

TEST(Repeat, Linear) {
  for (int64_t n : {1, 2, 5})
    for (int64_t times : {1, 2, 3, 4}) {
      const Tensor x = random({2, n, 3}, 1);
      auto build = [=](Emit &e, const auto &v) { return repeat(e, v[0], 1, times, true); };
      check(build, {x},
            naive({2, n * times, 3},
                  [&](Index i) {
                    const double at = (static_cast<double>(i[1]) + 0.5) / static_cast<double>(times) - 0.5;
                    const double low = std::floor(at), share = at - low;
                    auto value = [&](double place) {
                      i[1] = std::clamp<int64_t>(static_cast<int64_t>(place), 0, n - 1);
                      return dl4::test::at(x, i);
                    };
                    return (1 - share) * value(low) + share * value(low + 1);
                  }),
            1e-6);
      check_gradient(build, {x});
    }
}

TEST(Repeat, SecondGradientAndRefusals) {
  // The gradient of the gradient's own sum leads back through repeat.
  check_gradient(gradients(one([](Emit &e, const auto &v) { return repeat(e, v[0], 0, 3, true); }), 1, {0}),
                 {random({4}, 1), random({12}, 2)}, {1});
  check_gradient(gradients(one([](Emit &e, const auto &v) { return repeat(e, v[0], 0, 3); }), 1, {0}),
                 {random({4}, 1), random({12}, 2)}, {1});
  check_refused([](Emit &e, const auto &v) { return repeat(e, v[0], 0, 0); }, {Shape{4}}, Code::invalid_argument,
                "expected 1 to 2147483647 times, got 0");
  check_refused([](Emit &e, const auto &v) { return repeat(e, v[0], 0, 2, true); }, {Operand{DType::i32, {4}}},
                Code::invalid_argument, "expects float32, got int32");
  check_refused([](Emit &e, const auto &v) { return repeat(e, v[0], 0, 1 << 30); }, {Shape{4}}, Code::invalid_argument,
                "");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
