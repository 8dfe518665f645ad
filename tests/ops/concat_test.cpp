// concat and the cut that is its gradient.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 along(int axis) {
  return [axis](Emit &e, const auto &x) { return concat(e, x, axis); };
}

TEST(Concat, AlongEveryAxis) {
  for (DType t : {DType::f32, DType::i64, DType::boolean}) {
    for (int axis : {0, 1, 2, -1}) {
      std::vector<Tensor> parts;
      int64_t total = 0;
      Shape s{4, 5, 6};
      for (int64_t n : {3, 0, 1, 9}) {
        parts.push_back(random(s.with(axis, n), static_cast<uint64_t>(n), 0, 9, t));
        total += n;
      }
      check(along(axis), parts,
            naive(t, s.with(axis, total),
                  [&](Index i) {
                    int64_t &k = i[static_cast<size_t>(s.axis(axis))];
                    size_t part = 0;
                    while (k >= parts[part].shape[axis]) k -= parts[part++].shape[axis];
                    return at(parts[part], i);
                  }),
            0);
    }
  }
  check(along(1), {make_tensor(DType::f32, {0, 2}), make_tensor(DType::f32, {0, 3})}, make_tensor(DType::f32, {0, 5}));
}

TEST(Concat, Gradients) {
  for (int axis : {0, 1})
    check_gradient(along(axis), {random({2, 3}, 1), random(Shape{2, 3}, 2), random({2, 3}, 3)}, {0, 2});
  // One value twice.
  check_gradient([](Emit &e, const auto &x) { return concat(e, {x[0], x[0]}, 1); }, {random({2, 3}, 1)});
}

TEST(Concat, Refuses) {
  check_refused(along(1), {Shape{2, 3}, Shape{3, 3}}, Code::shape_mismatch,
                "concat: (2, 3) and (3, 3) differ outside axis 1");
  check_refused(along(1), {Shape{2, 3}, Shape{2, 3, 1}}, Code::shape_mismatch, "differ outside axis 1");
  check_refused(along(2), {Shape{2, 3}, Shape{2, 3}}, Code::invalid_argument, "axis 2 is out of range");
  check_refused(along(0), std::vector<Shape>{}, Code::invalid_argument, "concat of nothing");
  check_refused(along(0), {Operand{DType::f32, {2}}, Operand{DType::i32, {2}}}, Code::invalid_argument,
                "concat expects equal dtypes, got float32 and int32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
