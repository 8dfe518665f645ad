// Matrix products C = A B (+ bias), row-major, single or batched: the candidates of the gemm op, one file each.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/kernels/gemm/epilogue.hpp"
#include "backend/cpu/kernels/gemm/packed.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "base/dtype.hpp"

namespace dl4::kernels {

// A is [m, k] (stored [k, m] if trans_a), B is [k, n] (stored [n, k] if trans_b), C is [m, n]. Leading dimensions and
// batch strides are in elements. Batch stride 0: shared by all items.
// Arguments: a, b, bias [n] (only if `bias`), c.
struct Gemm {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;  // 0 = dense
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  bool bias = false;
  Epilogue epilogue = {};
  DType dtype = DType::f32;  // of all of them
  bool by_row = false;       // a row of C has the same bits as computed alone
  bool bfloat16 = false;     // rounds A and B to it first
};

// The product with dense leading dimensions filled in. A batch that is one taller product becomes that.
Gemm dense(const Gemm &g);

// Adds the bias to each row of C.
inline void add_bias(const float *bias, float *c, int64_t m, int64_t n, int64_t ldc) noexcept {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] += bias[j];
}

// Each factory cuts into at most `slices` (batch items, else rows, else columns) and returns nullptr where it does not
// apply. Zero sizes are valid: k == 0 gives the bias, or zeros.

// For k > 0. b: the right-hand side of a rounded product or one by tiles, if constant. tiles: number of part products
// (amx_gemm.hpp); then nullptr for a constant that does not fit.
[[gnu::cold]] std::unique_ptr<Kernel> blocked_gemm(const Gemm &g, int64_t slices, const Constant *b = nullptr,
                                                   int tiles = 0);

[[gnu::cold]] std::unique_ptr<Kernel> openblas_gemm(const Gemm &g, int64_t slices);

// b: the right-hand side if constant (then stride_b must be 0), packed once; nullptr if it is an argument.
[[gnu::cold]] std::unique_ptr<Kernel> dnnl_gemm(const Gemm &g, int64_t slices, const Constant *b = nullptr);

}  // namespace dl4::kernels
