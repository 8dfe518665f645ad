// OpenBLAS, single-threaded. The only file that includes cblas.h is blas.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/cpu.hpp"

namespace dl4::kernels::blas {

enum class Threading { serial = 0, pthread = 1, openmp = 2 };

// How the OpenBLAS that is loaded was built.
Threading threading() noexcept;

// Why its products are not used: "for its kernels are of Prescott, older than AVX-512, which the processor has"; ""
// where they are. Of the OpenMP variant alone they may be: the pthread one runs threads of its own, and the serial one
// returns wrong products when called by several threads at once. Its kernels are chosen by the processor's model, or by
// OPENBLAS_CORETYPE: of a model that is newer than it, they may be older than this processor's vectors by far.
const std::string &unused();
inline bool usable() { return unused().empty(); }

// "OpenBLAS 0.3.21 ... SkylakeX, openmp": the variant and the core type it chose.
std::string description();
std::string core_name();
// Are the kernels for a core of this name (of OpenBLAS, in any case) older than these vectors? Names that are not known
// are newer.
bool is_older(std::string_view core, cpu::Vectors vectors);

// Row-major C[m,n] = alpha op(A) op(B) + beta C. Zero sizes are fine; beta 0 overwrites whatever C holds. Sizes and
// leading dimensions up to 2^31 - 1. At most 60 threads run inside at once; the others wait.
void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
           const float *b, int64_t ldb, float beta, float *c, int64_t ldc) noexcept;

}  // namespace dl4::kernels::blas
