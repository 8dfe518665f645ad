// Products where a library's overhead would dominate: few rows, or small in every dimension. Plain functions,
// thread-safe.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// C = A B + D, row-major: A [m, k], B [k, n], C [m, n], leading dimensions in elements. D is [m, n] with leading
// dimension ldd; ldd 0: one row (a bias) for all; nullptr: none. C may be D (accumulate); no other overlap. k == 0: C =
// D.
void small_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                const float *d, int64_t ldd, float *c, int64_t ldc) noexcept;
// A stored [k, m].
void small_gemm_at(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *d, int64_t ldd, float *c, int64_t ldc) noexcept;
// B stored [n, k].
void small_gemm_bt(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *d, int64_t ldd, float *c, int64_t ldc) noexcept;
// The same by dot products of rows of A with rows of B, for few long rows.
void dot_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, const float *d,
              int64_t ldd, float *c, int64_t ldc) noexcept;

}  // namespace dl4::kernels
