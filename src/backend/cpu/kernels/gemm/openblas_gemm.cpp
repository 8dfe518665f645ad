// Matrix products by OpenBLAS: as good as any where the right-hand side is not packed.
#include <climits>

#include "backend/cpu/kernels/gemm/blas.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"

namespace dl4::kernels {
namespace {

struct OpenblasGemm final : Kernel {
  OpenblasGemm(const Gemm &g, const GemmCut &c) : Kernel("openblas_gemm", c.slices), g(g), how(c) {}

  void run(int64_t slice, const Run &r) const noexcept override {
    GemmPart p = how.part_of(g, slice);
    const float *bias = g.bias ? r.in<float>(2) : nullptr;
    for (int64_t item = p.item0; item < p.item1; item++) {
      const float *a = r.in<float>(0) + item * g.stride_a + p.row0 * (g.trans_a ? 1 : g.lda);
      const float *b = r.in<float>(1) + item * g.stride_b + p.col0 * (g.trans_b ? g.ldb : 1);
      float *c = r.out<float>(0) + item * g.stride_c + p.row0 * g.ldc + p.col0;
      // OpenBLAS always adds to C: rows filled with the bias cost no more than zeros.
      if (bias) fill(bias + p.col0, c, p.rows(), p.cols(), g.ldc);
      blas::sgemm(g.trans_a, g.trans_b, p.rows(), p.cols(), g.k, 1, a, g.lda, b, g.ldb, bias ? 1.f : 0.f, c, g.ldc);
      if (g.epilogue) g.epilogue(c, p.rows(), p.cols(), g.ldc);
    }
  }

  const Gemm g;
  const GemmCut how;
};

}  // namespace

Gemm dense(const Gemm &g) {
  Gemm d = g;
  if (!d.lda) d.lda = d.trans_a ? d.m : d.k;
  if (!d.ldb) d.ldb = d.trans_b ? d.k : d.n;
  if (!d.ldc) d.ldc = d.n;
  // Leading dimensions of nothing are still at least 1.
  d.lda = std::max<int64_t>(1, d.lda);
  d.ldb = std::max<int64_t>(1, d.ldb);
  d.ldc = std::max<int64_t>(1, d.ldc);
  bool rows_follow = !d.trans_a && d.stride_a == checked_mul(d.m, d.lda) && d.stride_c == checked_mul(d.m, d.ldc);
  if (d.batch > 1 && d.stride_b == 0 && rows_follow) {  // one taller product
    d.m = checked_mul(d.m, d.batch);
    d.batch = 1;
  }
  if (d.batch == 1) d.stride_a = d.stride_b = d.stride_c = 0;
  return d;
}

std::unique_ptr<Kernel> openblas_gemm(const Gemm &given, int64_t slices) {
  Gemm g = dense(given);
  if (!blas::usable() || std::max({g.m, g.n, g.k, g.lda, g.ldb, g.ldc}) > INT_MAX) return nullptr;
  // A slice packs all of the operand that is not cut: the larger one is.
  return std::make_unique<OpenblasGemm>(g, cut(g, slices, g.m >= g.n ? 8 : INT_MAX, 4, 16));
}

}  // namespace dl4::kernels
