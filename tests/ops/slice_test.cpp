// slice: part of an axis, from either end.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 cut(int axis, int64_t begin, int64_t size) {
  return [=](Emit &e, const auto &x) { return slice(e, x[0], axis, begin, size); };
}

TEST(Slice, Parts) {
  Tensor x = random({6, 5, 7}, 1);
  struct Case {
    int axis;
    int64_t begin, size, from, n;
  };
  for (Case c : {Case{0, 2, 3, 2, 3},
                 {1, 1, -1, 1, 4},
                 {2, -2, 1, 5, 1},
                 {-1, -3, -1, 4, 3},
                 {1, 5, 0, 5, 0},
                 {0, 0, 6, 0, 6}}) {
    check(cut(c.axis, c.begin, c.size), {x},
          naive(x.shape.with(c.axis, c.n),
                [&](Index i) {
                  i[static_cast<size_t>(x.shape.axis(c.axis))] += c.from;
                  return at(x, i);
                }),
          0);
    if (c.n) check_gradient(cut(c.axis, c.begin, c.size), {random({6, 5, 7}, 2)});
  }
}

TEST(Slice, FreeDims) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {-1, 4});
  EXPECT_EQ(to_string(e.shape(slice(e, x, 0, 2, 3))), "(3, 4)");
  EXPECT_EQ(to_string(e.shape(slice(e, x, 0, 2, -1))), "(?, 4)");
  EXPECT_EQ(to_string(e.shape(slice(e, x, 0, -2, -1))), "(2, 4)");
}

TEST(Slice, Refuses) {
  check_refused(cut(0, 1, 3), {Shape{3}}, Code::shape_mismatch, "slice: 3 from 1 is outside axis 0 of (3,)");
  check_refused(cut(0, 4, -1), {Shape{3}}, Code::shape_mismatch, "slice: all from 4 is outside axis 0 of (3,)");
  check_refused(cut(0, -4, 1), {Shape{3}}, Code::shape_mismatch, "is outside axis 0");
  check_refused(cut(0, 0, -2), {Shape{3}}, Code::invalid_argument, "slice: size -2");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
