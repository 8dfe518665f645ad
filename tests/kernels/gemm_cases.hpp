// Products of many shapes, and sums in double that kernels are checked against.
#pragma once

#include "backend/cpu/kernels/gemm/gemm.hpp"

#include <functional>
#include <string>

#include "run_kernel.hpp"

namespace dl4::kernels::testing {

struct Case {
  Gemm g;
  Guarded a, b, bias;
  std::vector<double> want;
  int64_t c_size;

  Case(const Gemm &given, std::mt19937 &random, bool nan = false)
      : g(given),
        a(given.batch > 1 && !g.stride_a ? elements(0, g.m, g.k, g.trans_a, g.lda)
                                         : elements(g.stride_a, g.m, g.k, g.trans_a, g.lda),
          random),
        b(elements(g.stride_b, g.k, g.n, g.trans_b, g.ldb), random),
        bias(g.n, random),
        c_size(elements(g.stride_c, g.m, g.n, false, g.ldc)) {
    if (nan && a.size()) a[a.size() / 2] = std::nanf("");
    reference();
  }

  static int64_t ld(int64_t given, int64_t rows, int64_t cols, bool trans) {
    return given ? given : std::max<int64_t>(1, trans ? rows : cols);
  }
  int64_t elements(int64_t stride, int64_t rows, int64_t cols, bool trans, int64_t given) const {
    int64_t stored = trans ? cols : rows;
    return (g.batch - 1) * stride + stored * ld(given, rows, cols, trans);
  }

  void reference() {
    want.assign(static_cast<size_t>(c_size), std::nan(""));  // what no one writes stays NaN
    int64_t lda = ld(g.lda, g.m, g.k, g.trans_a), ldb = ld(g.ldb, g.k, g.n, g.trans_b);
    int64_t ldc = ld(g.ldc, g.m, g.n, false);
    for (int64_t t = 0; t < g.batch; t++)
      for (int64_t i = 0; i < g.m; i++)
        for (int64_t j = 0; j < g.n; j++) {
          double sum = g.bias ? bias[j] : 0;
          for (int64_t x = 0; x < g.k; x++)
            sum += double{a[t * g.stride_a + (g.trans_a ? x * lda + i : i * lda + x)]} *
                   b[t * g.stride_b + (g.trans_b ? j * ldb + x : x * ldb + j)];
          want[static_cast<size_t>(t * g.stride_c + i * ldc + j)] = g.epilogue ? 2 * sum + 1 : sum;
        }
  }

  void check(const Kernel *kernel, const std::string &what, double tolerance = 1e-5) {
    ASSERT_NE(kernel, nullptr) << what;
    Guarded c(c_size);
    std::vector<void *> args{a.begin(), b.begin()};
    if (g.bias) args.push_back(bias.begin());
    args.push_back(c.begin());
    EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
    EXPECT_TRUE(near(c, want, tolerance)) << kernel->name << ": " << what;
    expect_same_bits(*kernel, args, args.size() - 1, c);
  }
};

inline std::string text(const Gemm &g, int64_t slices) {
  std::string s;
  for (int64_t x : {g.batch, g.m, g.n, g.k, int64_t{g.trans_a}, int64_t{g.trans_b}, int64_t{g.bias}, slices})
    s += std::to_string(x) + " ";
  return s;
}

using Check = std::function<void(const Gemm &, std::mt19937 &)>;

inline void check_odd_sizes(const Check &check_all) {
  std::mt19937 random(1);
  int variant = 0;
  for (int64_t m : {1, 2, 5, 33, 131})
    for (int64_t n : {1, 3, 64, 129, 200})
      for (int64_t k : {1, 7, 65}) {
        Gemm g{.m = m, .n = n, .k = k};
        g.trans_a = variant & 1;
        g.trans_b = variant & 2;
        g.bias = variant & 4;
        if (variant & 8) g.epilogue.run = doubled_plus_one;
        variant += 3;
        check_all(g, random);
      }
}

inline void check_leading_dimensions(const Check &check_all) {
  std::mt19937 random(2);
  for (int t = 0; t < 4; t++) {
    Gemm g{
        .m = 70, .n = 130, .k = 20, .trans_a = bool(t & 1), .trans_b = bool(t & 2), .lda = 75, .ldb = 140, .ldc = 135};
    g.bias = true;
    g.epilogue.run = doubled_plus_one;
    check_all(g, random);
  }
}

inline void check_batches(const Check &check_all) {
  std::mt19937 random(3);
  for (int64_t batch : {2, 3, 8}) {
    Gemm g{.batch = batch, .m = 9, .n = 70, .k = 11, .stride_a = 99, .stride_b = 770, .stride_c = 630};
    check_all(g, random);
    g.bias = true;
    g.epilogue.run = doubled_plus_one;
    check_all(g, random);
    g.trans_a = g.trans_b = true;
    check_all(g, random);
    g.stride_b = 0;  // shared
    check_all(g, random);
    g.trans_a = false;  // one taller product
    check_all(g, random);
  }
  // Heads of an attention: rows of one item lie between those of the others.
  Gemm heads{.batch = 4, .m = 6, .n = 5, .k = 8, .trans_b = true, .lda = 32, .ldb = 32, .ldc = 5};
  heads.stride_a = heads.stride_b = 8;
  heads.stride_c = 30;
  std::mt19937 again(4);
  check_all(heads, again);
}

inline void check_nothing_to_multiply(const Check &check_all) {
  std::mt19937 random(5);
  for (int64_t batch : {1, 3})
    for (bool bias : {false, true}) {
      Gemm g{.batch = batch, .m = 40, .n = 130, .k = 0, .bias = bias};
      g.stride_c = batch > 1 ? 40 * 130 : 0;
      g.epilogue.run = doubled_plus_one;
      check_all(g, random);
    }
}

}  // namespace dl4::kernels::testing
