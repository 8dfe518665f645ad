// select: broadcasting, and nothing of the side not taken.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 build = [](Emit &e, const auto &x) { return select(e, x[0], x[1], x[2]); };

TEST(Select, TakesOneSideOnly) {
  check(build,
        {tensor<bool>({4}, {true, false, false, true}), tensor<float>({4}, {1, NAN, INFINITY, 4}),
         tensor<float>({}, {-1})},
        tensor<float>({4}, {1, -1, -1, 4}));
}

TEST(Select, Broadcasts) {
  for (Shape mask : {Shape{3, 1, 5}, Shape{5}, Shape{}, Shape{3, 4, 5}, Shape{4, 1}}) {
    for (DType t : {DType::f32, DType::i64, DType::boolean}) {
      Tensor m = random(mask, 1, 0, 1, DType::boolean), a = random({3, 4, 5}, 2, 0, 9, t),
             b = random({4, 1}, 3, 0, 9, t);
      auto flag = [&](const Index &i) {
        Index own(i.end() - mask.rank(), i.end());
        for (int k = 0; k < mask.rank(); ++k)
          if (mask[k] == 1) own[static_cast<size_t>(k)] = 0;
        return at(m, own) != 0;
      };
      check(build, {m, a, b}, naive(t, {3, 4, 5}, [&](const Index &i) {
              return flag(i) ? at(a, i) : at(b, {i[1], 0});
            }));
    }
  }
  check(build, {random({0, 3}, 1, 0, 1, DType::boolean), random({3}, 1), random({}, 1)},
        make_tensor(DType::f32, {0, 3}));
}

TEST(Select, Gradient) {
  check_gradient(build, {random({4, 3}, 1, 0, 1, DType::boolean), random({4, 3}, 2), random({3}, 3)}, {1, 2});
  check_gradient(build, {random({4, 1}, 1, 0, 1, DType::boolean), random({}, 2), random({4, 3}, 3)}, {1, 2});
}

TEST(Select, Refuses) {
  check_refused(build, {Shape{2}, Shape{2}, Shape{2}}, Code::invalid_argument,
                "the mask of select expects bool, got float32");
  check_refused(build, {Operand{DType::boolean, {2}}, Operand{DType::f32, {2}}, Operand{DType::i32, {2}}},
                Code::invalid_argument, "expected values of one dtype, got float32 and int32");
  check_refused(build, {Operand{DType::boolean, {2}}, Operand{DType::f32, {3}}, Operand{DType::f32, {3}}},
                Code::shape_mismatch, "shapes (2,) and (3,) do not broadcast");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
