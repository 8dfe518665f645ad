// Products of numbers that are rounded to bfloat16, summed in float32: of blocks as by_blocks() has them laid out.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::kernels {

// y[i] is the bfloat16 next to x[i], ties to even.
void round_to_bfloat16(const float *x, float *y, int64_t n) noexcept;

// A row of A, or a column of B, becomes words: two numbers next to each other along k in one word, the first in its
// lower half, an odd last one with a zero.
// Rows of A, lda apart, to words ldw apart, which are written up to k rounded up to 32, halved; `words` may be `a`.
void round_rows(int64_t m, int64_t k, const float *a, int64_t lda, float *words, int64_t ldw) noexcept;
// Panels of B as pack_b() makes them, in their places.
void round_panels(int64_t k, int64_t n, float *panels) noexcept;

// C [m, n] = A B + D of such rows and panels; D, which with groups is a row, relu, groups, parts and `used` as in
// packed_gemm(), in words of A. With parts k is even. For each pair of k the second product is
// added first and the first one then, each with one rounding: what the instruction of AVX512_BF16 does, and what others
// compute where it is missing.
struct Bf16Gemm {
  int64_t m = 0, n = 0, k = 0;
  const float *a = nullptr;
  int64_t lda = 0;
  const float *panels = nullptr, *d = nullptr;
  int64_t ldd = 0;
  float *c = nullptr;
  int64_t ldc = 0;
  bool relu = false;
  int64_t panel_step = 0;  // words from one panel to the next
  int64_t groups = 1, group_a = 0, group_c = 0, parts = 1, part_a = 0;
  const PackedGemm::Range *used = nullptr;
};
void bf16_gemm(const Bf16Gemm &gemm) noexcept;

}  // namespace dl4::kernels
