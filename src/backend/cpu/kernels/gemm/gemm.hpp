// Matrix products: C = A B (+ bias), row-major, one or a batch of them. The candidates of the gemm op, each in its own
// file.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/kernels/gemm/epilogue.hpp"
#include "backend/cpu/kernels/gemm/packed.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "base/dtype.hpp"

namespace dl4::kernels {

// A is [m, k] (stored [k, m] when trans_a), B is [k, n] (stored [n, k] when trans_b), C is [m, n]. Leading dimensions
// are the distance between stored rows, batch strides the distance between items: both in elements. Batch stride 0 =
// all items share it.
// Arguments: a, b, bias [n] (only if `bias`), c.
struct Gemm {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;  // 0 = dense
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  bool bias = false;
  Epilogue epilogue = {};
  DType dtype = DType::f32;  // of all of them
  bool by_row = false;       // a row of C has the bits that it has alone
  bool bfloat16 = false;     // A and B are rounded to it first
};

// The same product with dense leading dimensions filled in; a batch that is really one taller product becomes that.
Gemm dense(const Gemm &g);

// A bias added to each row of C.
inline void add_bias(const float *bias, float *c, int64_t m, int64_t n, int64_t ldc) noexcept {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] += bias[j];
}

// Each factory cuts into at most `slices` (batch items, else rows, else columns) and returns nullptr where it does not
// apply. Zero sizes are fine: k == 0 gives the bias, or zeros.

// For k > 0. b: of a rounded product, or one by tiles, the right-hand side when it is constant. tiles: how many
// products of parts make it (amx_gemm.hpp); then nullptr for a constant that does not fit.
[[gnu::cold]] std::unique_ptr<Kernel> blocked_gemm(const Gemm &g, int64_t slices, const Constant *b = nullptr,
                                                   int tiles = 0);

[[gnu::cold]] std::unique_ptr<Kernel> openblas_gemm(const Gemm &g, int64_t slices);

// b: the right-hand side when it is constant (then stride_b must be 0), packed once; nullptr when it is an argument.
[[gnu::cold]] std::unique_ptr<Kernel> dnnl_gemm(const Gemm &g, int64_t slices, const Constant *b = nullptr);

}  // namespace dl4::kernels
