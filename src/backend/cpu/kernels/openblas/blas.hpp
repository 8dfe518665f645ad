// OpenBLAS, single-threaded. The only file that includes cblas.h is blas.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/cpu.hpp"

namespace dl4::kernels::blas {

enum class Threading { serial = 0, pthread = 1, openmp = 2 };

// Threading model of the loaded OpenBLAS.
Threading threading() noexcept;

// Why its products are not used: "for its kernels are of Prescott, older than AVX-512, which the processor has"; "" if
// they are. Only the OpenMP variant can be used: the pthread one runs threads of its own, and the serial one returns
// wrong products when several threads call it. OpenBLAS chooses its kernels by the processor model or by
// OPENBLAS_CORETYPE; for models newer than itself they may be far older than the processor's vectors.
const std::string &unused();
inline bool usable() { return unused().empty(); }

// "OpenBLAS 0.3.21 ... SkylakeX, openmp": the variant and the selected core type.
std::string description();
std::string core_name();
// Whether the kernels of this OpenBLAS core type (in any case) are older than these vectors. Unknown names are taken as
// newer.
bool is_older(std::string_view core, cpu::Vectors vectors);

// Row-major C[m,n] = alpha op(A) op(B) + beta C. Zero sizes are valid; with beta 0, C is overwritten whatever it holds.
// Sizes and leading dimensions up to 2^31 - 1. At most 60 threads run inside at once; others wait.
void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
           const float *b, int64_t ldb, float beta, float *c, int64_t ldc) noexcept;

}  // namespace dl4::kernels::blas
