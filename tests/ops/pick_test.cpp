// pick: one element of each row.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 build = [](Emit &e, const auto &x) { return pick(e, x[0], x[1], x.size() > 2 ? x[2] : ops::none); };

TEST(Pick, ByLabel) {
  for (DType t : {DType::i32, DType::i64, DType::u8, DType::f32}) {
    Tensor x = random({130, 5}, 1), labels = random({130}, 2, 0, 4.99, t);
    check(build, {x, labels},
          naive({130},
                [&](const Index &i) {
                  return at(x, {i[0], static_cast<int64_t>(at(labels, i))});
                }),
          0);
  }
  check(build, {make_tensor(DType::f32, {0, 3}), make_tensor(DType::i32, {0})}, make_tensor(DType::f32, {0}));
  check(build, {make_tensor(DType::f32, {0, 0}), make_tensor(DType::i32, {0})}, make_tensor(DType::f32, {0}));
}

TEST(Pick, WhereNotValidTheLabelIsNotLookedAt) {
  Tensor x = random({4, 3}, 1), labels = tensor<int64_t>({4}, {2, 99, -1, 1}),
         valid = tensor<bool>({4}, {true, false, false, true});
  check(build, {x, labels, valid},
        naive({4},
              [&](const Index &i) {
                return at(x, {i[0], at(valid, i) != 0 ? static_cast<int64_t>(at(labels, i)) : 0});
              }),
        0);
  check_gradient(build, {x, labels, valid});
}

TEST(Pick, Gradient) { check_gradient(build, {random({4, 3}, 1), tensor<int32_t>({4}, {2, 0, 0, 1})}); }

TEST(Pick, FaultsOutOfRange) {
  Tensor x = random({3, 4}, 1), labels = tensor<int32_t>({3}, {0, 4, 1});
  auto r = evaluate(program_of(one(build), {x, labels}), {x, labels});
  EXPECT_EQ(r.fault, kernels::Fault::index_out_of_range);
  EXPECT_EQ(r.value, 4);
}

TEST(Pick, Refuses) {
  check_refused(build, {Shape{3}, Shape{3}}, Code::shape_mismatch, "pick expects rows (N, C), got (3,)");
  check_refused(build, {Operand{DType::f32, {3, 4}}, Operand{DType::i32, {2}}}, Code::shape_mismatch,
                "expected a class number for each row of (3, 4), got (2,)");
  check_refused(build, {Operand{DType::f32, {3, 4}}, Operand{DType::i32, {3}}, Operand{DType::f32, {3}}},
                Code::invalid_argument, "the flags of pick expects bool");
  check_refused(build, {Operand{DType::f32, {3, 0}}, Operand{DType::i32, {3}}}, Code::shape_mismatch,
                "expected at least one class");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
