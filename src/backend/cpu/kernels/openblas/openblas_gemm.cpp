// Matrix products by OpenBLAS: as good as any if the right-hand side is not packed.
#include <climits>

#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "backend/cpu/kernels/openblas/blas.hpp"

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
      // OpenBLAS always adds to C, so filling rows with the bias costs no more than zeros.
      if (bias) fill(bias + p.col0, c, p.rows(), p.cols(), g.ldc);
      blas::sgemm(g.trans_a, g.trans_b, p.rows(), p.cols(), g.k, 1, a, g.lda, b, g.ldb, bias ? 1.f : 0.f, c, g.ldc);
      if (g.epilogue) g.epilogue(c, p.rows(), p.cols(), g.ldc);
    }
  }

  const Gemm g;
  const GemmCut how;
};

}  // namespace

std::unique_ptr<Kernel> openblas_gemm(const Gemm &given, int64_t slices) {
  Gemm g = dense(given);
  if (!blas::usable() || std::max({g.m, g.n, g.k, g.lda, g.ldb, g.ldc}) > INT_MAX) return nullptr;
  // A slice packs all of the operand that is not cut, so the larger one is cut.
  return std::make_unique<OpenblasGemm>(g, cut(g, slices, g.m >= g.n ? 8 : INT_MAX, 4, 16));
}

}  // namespace dl4::kernels
