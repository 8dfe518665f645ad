// Products: broadcasting, transposes, bias, candidates, refusals.
#include <cmath>

#include "harness/gradient_check.hpp"
#include "ops/matched.hpp"
#include "ops/op.hpp"
#include "plan/loop.hpp"
#include "plan/passes.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

std::vector<Array> naive(const std::vector<Array> &in, MatMul how) {
  const Array &a = in[0], &b = in[1];
  int64_t m = a.shape[how.transpose_a ? -1 : -2], k = a.shape[how.transpose_a ? -2 : -1];
  int64_t n = b.shape[how.transpose_b ? -2 : -1];
  Shape batch = broadcast(a.shape.first(a.shape.rank() - 2), b.shape.first(b.shape.rank() - 2));
  Array c = zeros(batch.joined({m, n}));
  // Which item of v stands at item `at` of the batch.
  auto item = [&](const Shape &v, int64_t at) {
    int64_t result = 0, step = 1;
    for (int i = 1; i <= batch.rank(); ++i) {
      int64_t here = at % batch[-i];
      at /= batch[-i];
      if (i + 2 > v.rank()) continue;
      result += v[-i - 2] == 1 ? 0 : here * step;
      step *= v[-i - 2];
    }
    return result;
  };
  for (int64_t at = 0; at < batch.elements(); ++at) {
    int64_t ia = item(a.shape, at) * m * k, ib = item(b.shape, at) * k * n;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double s = in.size() > 2 ? in[2][j] : 0;
        for (int64_t l = 0; l < k; ++l)
          s += a[ia + (how.transpose_a ? l * m + i : i * k + l)] * b[ib + (how.transpose_b ? j * k + l : l * n + j)];
        c[(at * m + i) * n + j] = s;
      }
  }
  return {c};
}

Case matmul_case(Shape a, Shape b, MatMul how = {}, bool bias = false) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) { return matmul(e, in[0], in[1], how, bias ? in[2] : none); });
  c.inputs = randoms({a, b});
  c.constants = {1};
  if (bias) c.constants.push_back(2), c.inputs.push_back(random({b[how.transpose_b ? -2 : -1]}, 3, -1, 1));
  c.reference = [=](const auto &in) { return naive(in, how); };
  c.kernels = {"small_gemm",     "packed_gemm",      "openblas_gemm", "dnnl_gemm",        "blocked_gemm",
               "reference_gemm", "blocked_by_item", "small_by_item", "reference_by_item"};
  c.tolerance = 5e-6;
  return c;
}

TEST(MatMul, TwoAxes) {
  for (int64_t m : {1, 2, 7, 33})
    for (int64_t n : {1, 5, 70})
      for (bool ta : {false, true})
        for (bool tb : {false, true}) {
          Shape a = ta ? Shape{3, m} : Shape{m, 3}, b = tb ? Shape{n, 3} : Shape{3, n};
          check(matmul_case(a, b, {ta, tb}, (m + n) % 2 == 0));
        }
}

TEST(MatMul, LeadingAxesAreFlattened) {
  check(matmul_case({2, 3, 5, 4}, {4, 6}, {}, true));
  check(matmul_case({2, 3, 4}, {6, 4}, {false, true}, true));
  check(matmul_case({2, 4, 3}, {4, 6}, {true, false}));
}

TEST(MatMul, BatchesBroadcast) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      auto a = [&](const Shape &batch) { return batch.joined(ta ? Shape{4, 3} : Shape{3, 4}); };
      auto b = [&](const Shape &batch) { return batch.joined(tb ? Shape{5, 4} : Shape{4, 5}); };
      check(matmul_case(a({6}), b({6}), {ta, tb}, true));
      check(matmul_case(a({}), b({3}), {ta, tb}));
      check(matmul_case(a({1}), b({3}), {ta, tb}));
      check(matmul_case(a({3}), b({1}), {ta, tb}));
      check(matmul_case(a({2, 1}), b({1, 3}), {ta, tb}, true));
      check(matmul_case(a({2, 1, 2}), b({3, 1}), {ta, tb}));
      check(matmul_case(a({2, 3}), b({3}), {ta, tb}));
    }
}

TEST(MatMul, FreeSizes) {
  Case c = matmul_case({2, 3, 5, 4}, {2, 3, 6, 4}, {false, true});
  c.free_axes = {0, 1, 2};
  c.constants = {};
  check(c);
  Case rows = matmul_case({7, 4}, {4, 6}, {}, true);
  rows.free_axes = {0};
  check(rows);
}

TEST(MatMul, Large) {
  for (Case c : {matmul_case({65, 129}, {129, 200}, {}, true), matmul_case({300, 9}, {300, 40}, {true, false}),
                 matmul_case({1, 300}, {300, 515}, {}, true), matmul_case({129, 65}, {200, 129}, {true, true}),
                 matmul_case({4, 40, 33}, {4, 33, 50})}) {
    c.gradient = false;
    c.tolerance = 1e-5;
    check(c);
  }
}

TEST(MatMul, ZeroSizes) {
  check(matmul_case({0, 4}, {4, 3}, {}, true));
  check(matmul_case({2, 0}, {0, 3}, {}, true));
  check(matmul_case({2, 0}, {0, 3}));
  check(matmul_case({2, 4}, {4, 0}));
  check(matmul_case({0, 2, 4}, {4, 3}));
  check(matmul_case({2, 3, 0}, {0, 3}));
  check(matmul_case({2, 3, 4}, {4, 0}));
  check(matmul_case({0, 2, 4}, {0, 4, 3}));
  check(matmul_case({0, 1, 2, 4}, {3, 4, 3}));
}

TEST(MatMul, KeepsNaN) {
  for (int64_t m : {1, 9}) {
    Case c = matmul_case({m, 40}, {40, 50}, {}, true);
    c.gradient = false;
    c.inputs[0].as<float>()[3] = NAN;
    c.inputs[1].as<float>()[3] = 0;
    check(c);
    c.inputs = randoms({{m, 40}, {40, 50}, {50}});
    c.inputs[1].as<float>()[7] = NAN;
    check(c);
  }
}

TEST(MatMul, FusedActivationHasTheSameBits) {
  for (int64_t m : {1, 70})
    check_fused(matmul_case({m, 40}, {40, 50}, {}, true), {Unary::relu, Unary::tanh, Unary::elu});
  // So few columns that they are dot products; NaN through relu.
  check_fused(matmul_case({70, 200}, {200, 3}, {}, true), {Unary::relu});
  for (int64_t m : {1, 9, 40}) {
    Case c = matmul_case({m, 40}, {40, 50}, {}, true);
    c.gradient = false;
    c.inputs[0].as<float>()[3] = NAN;
    check_fused(c, {Unary::relu});
  }
  // Several blocks of rows and of columns; two of 1,024 products at most.
  for (Shape a : {Shape{130, 1100}, Shape{600, 64}}) {
    Case c = matmul_case(a, {a[1], 110}, {}, true);
    c.gradient = false;
    c.tolerance = 1e-5;
    check_fused(c, {Unary::relu});
  }
}

TEST(MatMul, TakesOverABias) {
  Program p;
  Emit e(p);
  Id x = e.input("a", DType::f32, {2, 3}), w = e.input("b", DType::f32, {3, 4}), b = e.input("c", DType::f32, {4});
  e.output(add(e, add(e, matmul(e, x, w), b), b));
  plan::fuse_epilogues(p);
  ASSERT_EQ(p.steps.size(), 2u) << "one bias, not two";
  auto *op = as<MatMulOp>(p.steps[0]);
  ASSERT_TRUE(op && op->fused.bias);
  std::vector<Operand> src{{DType::f32, {2, 3}}, {DType::f32, {3, 4}}, {DType::f32, {4}}};
  EXPECT_EQ(op->infer(src)[0].shape, (Shape{2, 4}));
  src[2].shape = {5};
  EXPECT_THROW(op->infer(src), Error);
}

TEST(MatMul, Refusals) {
  auto refuse = [](Shape a, Shape b, MatMul how, const std::string &words, Code code = Code::shape_mismatch) {
    check_refused([&](Emit &e, const auto &v) { return matmul(e, v[0], v[1], how); }, {a, b}, code, words);
  };
  refuse({2, 3}, {4, 5}, {}, "inner dimensions must be equal, got 3 and 4 from shapes (2, 3) and (4, 5)");
  refuse({2, 3}, {3, 4}, {false, true}, "inner dimensions must be equal");
  refuse({3}, {3, 4}, {}, "need at least 2 axes, got (3,) and (3, 4)");
  refuse({2, 4, 3}, {3, 3, 4}, {}, "do not broadcast");
  check_refused([](Emit &e, const auto &v) { return matmul(e, v[0], v[1], {}, v[2]); },
                {Shape{2, 3}, Shape{3, 4}, Shape{5}}, Code::shape_mismatch, "expected a bias of shape (4,), got (5,)");
  check_refused([](Emit &e, const auto &v) { return matmul(e, v[0], v[1]); },
                {Operand{DType::i32, {2, 3}}, Operand{DType::f32, {3, 4}}}, Code::invalid_argument,
                "expects float32, got int32");
}

// It has more slices than threads; its rows are those of shorter products.
TEST(MatMul, ALongOneIsComputedInParts) {
  const int64_t m = 2501, k = 1024, n = 1024, some = 500;
  for (bool constant : {false, true})
    for (int threads : {1, 2}) {
      const bool bias = constant;
      const auto product = [&](Emit &e, const std::vector<Id> &in) {
        return std::vector<Id>{matmul(e, in[0], in[1], {}, bias ? in[2] : none)};
      };
      const Tensor a = random({m, k}, 1), b = random({k, n}, 2), c = random({n}, 3);
      const How how{.threads = threads, .constants = constant ? std::vector<int>{1} : std::vector<int>{}};
      const Program p = program_of(product, {a, b, c});
      EXPECT_GT(plan::make_kernel(p.steps[0], dispatch::site(p, p.steps[0]), {})->slices, 1);
      const Tensor whole = evaluate(program_of(product, {a, b, c}), {a, b, c}, {}, how).outputs[0];
      for (int64_t begin : {int64_t{0}, int64_t{600}, m - some}) {
        Tensor rows = make_tensor(DType::f32, {some, k});
        std::copy_n(a.as<float>() + begin * k, some * k, rows.as<float>());
        const Tensor part = evaluate(program_of(product, {rows, b, c}), {rows, b, c}, {}, how).outputs[0];
        Tensor same = make_tensor(DType::f32, {some, n});
        std::copy_n(whole.as<float>() + begin * n, some * n, same.as<float>());
        expect_close(same, part, 1e-4, "rows");
      }
    }
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
