// Products of numbers rounded to bfloat16, summed in float32, of blocks packed by by_blocks().
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::kernels {

// y[i] is x[i] rounded to bfloat16, ties to even.
void round_to_bfloat16(const float *x, float *y, int64_t n) noexcept;

// Packs rows of A or columns of B into words of two numbers adjacent along k, the first in the lower half; an odd last
// one is paired with zero.
// Writes rows of A (stride lda) to words (stride ldw) up to (k rounded up to 32) / 2; `words` may be `a`.
void round_rows(int64_t m, int64_t k, const float *a, int64_t lda, float *words, int64_t ldw) noexcept;
// Converts the panels of pack_b() in place.
void round_panels(int64_t k, int64_t n, float *panels) noexcept;

// C [m, n] = A B + D of such rows and panels. D (with groups: one row), relu, groups, parts and `used` as in
// packed_gemm(), counted in words of A. With parts, k is even. For each pair of k the second product is added first,
// then the first, each with one rounding: the behaviour of AVX512_BF16, emulated elsewhere.
struct Bf16Gemm {
  int64_t m = 0, n = 0, k = 0;
  const float *a = nullptr;
  int64_t lda = 0;
  const float *panels = nullptr, *d = nullptr;
  int64_t ldd = 0;
  float *c = nullptr;
  int64_t ldc = 0;
  bool relu = false;
  int64_t panel_step = 0;  // words between panels
  int64_t groups = 1, group_a = 0, group_c = 0, parts = 1, part_a = 0;
  const PackedGemm::Range *used = nullptr;
};
void bf16_gemm(const Bf16Gemm &gemm) noexcept;

}  // namespace dl4::kernels
