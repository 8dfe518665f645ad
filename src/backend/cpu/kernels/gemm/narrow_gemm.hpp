// Products by constant weights in fewer bytes than float32. Any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "backend/cpu/kernels/gemm/weight_type.hpp"

namespace dl4::kernels {

// B [k, n] in panels as those of packed_gemm.
//   bfloat16  each number to the nearest, ties to even; widened when it is read, sums in float32
//   int8      a code for each number: b * (127 / max |b|) of its column to the nearest, ties to even
//   int4      the same with 7, of its column and of the 128 rows that it is among
// A is not constant: each product makes codes of its rows, a * (127 / max |a|) of the row. With the scales max |a| /
// 127 and max |b| / 127 (or 7), C is scale of a * sum over groups (scale of b * sum of products of codes) + D. The
// inner sum is one of integers, and so the same on every processor. A row or column of zeros, or of numbers whose scale
// is no normal number, gives zeros; a row with NaN or infinity gives NaN.
struct NarrowWeights : Packed {
  WeightType type = WeightType::int8;
  int64_t k = 0, n = 0;
  // In a panel: bfloat16: rows of 16 words, the halves of word i are columns i and 16 + i. int8: rows of quads, those
  // of the columns one after the other, each 4 rows of B. int4: the same of 8 rows, the first 4 in the low halves.
  Tensor codes;
  // [groups, n in whole panels]; offsets: 128 * sum of codes, as codes of A are stored with 128 added.
  Tensor scales, offsets;
  bool bytes_at_once = false;  // the processor multiplies bytes

  bool is_integer() const { return type != WeightType::bfloat16; }
};

inline constexpr int64_t int4_group = 128;
// So many rows of B have integer sums that fit.
inline constexpr int64_t most_int8_rows = 1 << 16;

// Has the processor instructions that multiply bytes?
bool multiplies_bytes();
// Bytes of B so.
int64_t narrow_bytes(WeightType type, int64_t k, int64_t n);
// A constant B so, or columns of it from `first` on, made once for all that want it. Refuses numbers that have no
// scale.
std::shared_ptr<const NarrowWeights> narrow_weights(const Constant &b, WeightType type, int64_t k, int64_t n,
                                                    int64_t ldb, bool transposed = false, int64_t first = 0);

// Where the codes of A lie, which begin a row or image of their own or overlap: row i at i * step, in `parts` pieces of
// k / parts codes (whole quads of int8 if there are several) that are `apart` apart. scales: of all of them if `one`.
struct NarrowRows {
  const void *codes;
  const float *scales;
  int64_t step, parts, apart;
  bool one;
};
// The same product, of integers.
void narrow_gemm(const NarrowWeights &b, int64_t m, int64_t first, int64_t n, const NarrowRows &a, const float *d,
                 int64_t ldd, float *c, int64_t ldc, bool relu = false) noexcept;

// An image: rows of `row` numbers, and how many zeros are around them.
struct NarrowImage {
  int64_t rows, row, above, below, left, right;
  int64_t width() const { return left + row + right; }
};
// Bytes for one code.
int64_t narrow_code(const NarrowWeights &b);
// Bytes for the codes of an image with its zeros.
int64_t narrow_scratch(const NarrowWeights &b, const NarrowImage &image);
// Makes them, as of one row; gives the scale.
float narrow_codes(const NarrowWeights &b, const NarrowImage &image, const float *src, void *codes) noexcept;

// Bytes for the codes of m rows of k numbers.
int64_t narrow_scratch(int64_t m, int64_t k);
// Makes them; nothing for bfloat16.
void narrow_rows(const NarrowWeights &b, int64_t m, const float *a, int64_t lda, void *scratch) noexcept;
// Columns [first, first + n) of C = A B + D, D as in small_gemm; first is a multiple of packed_panel. c and d begin at
// column `first`. scratch: what narrow_rows made of A.
void narrow_gemm(const NarrowWeights &b, int64_t m, int64_t first, int64_t n, const float *a, int64_t lda,
                 const void *scratch, const float *d, int64_t ldd, float *c, int64_t ldc, bool relu = false) noexcept;

}  // namespace dl4::kernels
