// gather and the scatter that is its gradient.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 build = [](Emit &e, const auto &x) { return gather(e, x[0], x[1]); };

TEST(Gather, Rows) {
  for (DType t : {DType::i32, DType::i64, DType::u8, DType::f32})
    for (Shape table : {Shape{9, 4}, Shape{9, 33}, Shape{9}, Shape{9, 2, 3}, Shape{9, 0}})
      for (Shape ids : {Shape{7}, Shape{0}, Shape{5, 3}}) {
        SCOPED_TRACE(text(table, ids, t));
        Tensor x = random(table, 1), i = random(ids, 2, 0, 8.99, t);
        check(build, {x, i},
              naive(ids.joined(table.last(table.rank() - 1)),
                    [&](const Index &at_y) {
                      Index from(at_y.begin() + ids.rank(), at_y.end());
                      from.insert(from.begin(),
                                  static_cast<int64_t>(at(i, Index(at_y.begin(), at_y.begin() + ids.rank()))));
                      return at(x, from);
                    }),
              0);
      }
  check(build, {random({5, 2}, 1, 0, 9, DType::i64), tensor<int32_t>({0}, {})}, make_tensor(DType::i64, {0, 2}));
}

TEST(Gather, Gradient) {
  // Ids that come more than once, and rows that do not come at all; narrow and wide rows are cut in different ways.
  for (int64_t width : {3, 70})
    check_gradient(build, {random({6, width}, 1), tensor<int32_t>({7}, {5, 0, 0, 3, 5, 5, 1})});
  check_gradient(build, {random({6, 3}, 1), random({2, 3}, 2, 0, 6, DType::i64)});
}

TEST(ScatterAdd, Gradient) {
  Tensor table = random({6, 3}, 2), ids = tensor<int32_t>({5}, {5, 0, 0, 3, 5});
  Build1 scatter = [=](Emit &e, const auto &x) { return scatter_add(e, x[0], e.constant(ids), e.constant(table)); };
  check_gradient(scatter, {random({5, 3}, 1)});
}

TEST(RowSums, SumByIdInAscendingOrder) {
  Tensor rows = random({5, 3}, 1), table = random({10, 3}, 2);
  auto build = [](Emit &e, const std::vector<Id> &x) {
    RowSums sums = row_sums(e, x[0], x[1], x[2]);
    return std::vector<Id>{sums.ids, slice(e, sums.rows, 0, 0, 3)};
  };
  auto row = [&](int64_t i, int64_t j) { return at(rows, {i, j}); };
  for (DType t : {DType::i32, DType::i64, DType::u8, DType::f32}) {
    Tensor ids = naive(t, {5}, [](const Index &i) { return std::array{7, 2, 7, 0, 7}[static_cast<size_t>(i[0])]; });
    check(build, {rows, ids, table},
          {tensor<int64_t>({5}, {0, 2, 7, 10, 10}), naive({3, 3},
                                                          [&](const Index &i) {
                                                            return i[0] == 0 ? row(3, i[1])
                                                                   : i[0] == 1
                                                                       ? row(1, i[1])
                                                                       : row(0, i[1]) + row(2, i[1]) + row(4, i[1]);
                                                          })},
          1e-6);
  }
}

TEST(Gather, FaultsOutOfRange) {
  Tensor table = random({3, 2}, 1);
  for (int32_t bad : {3, -1, 1 << 30}) {
    Tensor ids = tensor<int32_t>({4}, {0, 2, bad, 1});
    for (int threads : {1, 2}) {
      auto r = evaluate(program_of(one(build), {table, ids}), {table, ids}, {}, {.threads = threads});
      EXPECT_EQ(r.fault, kernels::Fault::index_out_of_range);
      EXPECT_EQ(r.value, bad);
    }
  }
}

TEST(ScatterAdd, Refuses) {
  Build1 scatter = [](Emit &e, const auto &x) { return scatter_add(e, x[0], x[1], x[2]); };
  Build1 sums = [](Emit &e, const auto &x) { return row_sums(e, x[0], x[1], x[2]).rows; };
  for (const Build1 &b : {scatter, sums}) {
    check_refused(b, {Shape{5, 3}, Shape{4}, Shape{6, 3}}, Code::shape_mismatch,
                  "expects equal shapes, got (5, 3) and (4, 3)");
    check_refused(b, {Shape{5, 3}, Shape{5}, Shape{6, 2}}, Code::shape_mismatch,
                  "expects equal shapes, got (5, 3) and (5, 2)");
    check_refused(b, {Shape{5, 3}, Shape{5}, Shape{}}, Code::shape_mismatch, "expects a table of rows");
  }
}

TEST(Gather, Refuses) {
  check_refused(build, {Operand{DType::f32, {}}, Operand{DType::i32, {3}}}, Code::shape_mismatch,
                "gather expects a table of rows");
  check_refused(build, {Operand{DType::f32, {3, 2}}, Operand{DType::boolean, {3}}}, Code::invalid_argument,
                "ids: expected integers or whole float32 numbers, got bool");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
