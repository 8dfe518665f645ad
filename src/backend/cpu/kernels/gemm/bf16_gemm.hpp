// Products of numbers that are rounded to bfloat16, summed in float32: of blocks as by_blocks() has them laid out.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// y[i] is the bfloat16 next to x[i], ties to even.
void round_to_bfloat16(const float *x, float *y, int64_t n) noexcept;

// A row of A, or a column of B, becomes words in its place: two numbers next to each other along k in one word, the
// first in its lower half, an odd last one with a zero.
// Rows of A: ld is the distance of its rows before and after, at least k rounded up to 32.
void round_rows(int64_t m, int64_t k, float *a, int64_t ld) noexcept;
// Panels of B as pack_b() makes them, in their places.
void round_panels(int64_t k, int64_t n, float *panels) noexcept;

// C [m, n] = A B + D of such rows and panels; D and relu as in packed_gemm(). For each pair of k the second product is
// added first and the first one then, each with one rounding: what the instruction of AVX512_BF16 does, and what others
// compute where it is missing.
struct Bf16Gemm {
  int64_t m, n, k;
  const float *a;
  int64_t lda;
  const float *panels, *d;
  int64_t ldd;
  float *c;
  int64_t ldc;
  bool relu;
  int64_t panel_step;  // floats from one panel to the next
};
void bf16_gemm(const Bf16Gemm &gemm) noexcept;

}  // namespace dl4::kernels
