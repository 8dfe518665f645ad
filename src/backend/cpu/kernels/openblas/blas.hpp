// OpenBLAS, single-threaded. The only file that includes cblas.h is blas.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace dl4::kernels::blas {

enum class Threading { serial = 0, pthread = 1, openmp = 2 };

// How the OpenBLAS that is loaded was built.
Threading threading() noexcept;
// True for the OpenMP variant alone: the pthread one runs threads of its own and the serial one returns wrong products
// when called by several threads at once.
bool usable() noexcept;

// "OpenBLAS 0.3.21 ... SkylakeX, openmp": the variant, the core type it chose, and why it is not used if so.
std::string description();
std::string core_name();

// Row-major C[m,n] = alpha op(A) op(B) + beta C. Zero sizes are fine; beta 0 overwrites whatever C holds. Sizes and
// leading dimensions up to 2^31 - 1. At most 60 threads run inside at once; the others wait.
void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
           const float *b, int64_t ldb, float beta, float *c, int64_t ldc) noexcept;

}  // namespace dl4::kernels::blas
