// Which kernel computes a product where OpenBLAS is not to be had.
#include "backend/cpu/dispatch/products.hpp"

#include <gtest/gtest.h>

namespace dl4::dispatch {
namespace {

struct Expected {
  int64_t m, n, k;
  bool trans_a, trans_b;
  const char *kernel;
};

TEST(Products, WithoutOpenblasTheNextByItsFiguresIsTaken) {
  const std::vector<std::string> off{"openblas_gemm"};
  Site site;
  site.off = off;
  for (const Expected &e :
       {Expected{3, 3, 16, false, true, "small_gemm"}, Expected{1, 10, 84, false, true, "small_gemm"},
        Expected{32, 2, 1000, false, false, "small_gemm"}, Expected{64, 10, 128, true, false, "small_gemm"},
        Expected{64, 10, 128, true, true, "dnnl_gemm"}, Expected{4, 256, 256, false, true, "small_gemm"}}) {
    kernels::Gemm g;
    g.m = e.m, g.n = e.n, g.k = e.k, g.trans_a = e.trans_a, g.trans_b = e.trans_b;
    EXPECT_TRUE(product(site, g, 1, nullptr)->name.starts_with(e.kernel)) << e.m << 'x' << e.n << 'x' << e.k;
  }
}

}  // namespace
}  // namespace dl4::dispatch
