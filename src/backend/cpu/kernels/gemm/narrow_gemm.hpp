// Products by constant weights stored in fewer bytes than float32. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "backend/cpu/kernels/gemm/weight_type.hpp"

namespace dl4::kernels {

// B [k, n] in panels like those of packed_gemm.
//   bfloat16  rounded to nearest, ties to even; widened when read, sums in float32
//   int8      b * (127 / max |b|) of its column, to nearest, ties to even
//   int4      the same with 7, per column and group of 128 rows
// A is quantized per row in each product: a * (127 / max |a|) of the row. With the scales max |a| / 127 and max |b| /
// 127 (or 7), C is scale of a * sum over groups (scale of b * sum of products of codes) + D. The inner sum is an
// integer sum, and so the same on every processor. A row or column of zeros, or with a scale that is no normal number,
// gives zeros; a row with NaN or infinity gives NaN.
struct NarrowWeights : Packed {
  WeightType type = WeightType::int8;
  int64_t k = 0, n = 0;
  // Layout of a panel. bfloat16: rows of 16 words; the halves of word i are columns i and 16 + i. int8: rows of quads,
  // one per column, each 4 rows of B. int4: the same with 8 rows, the first 4 in the low halves.
  Tensor codes;
  // [groups, n in whole panels]. offsets: 128 * sum of codes, since codes of A are stored with 128 added.
  Tensor scales, offsets;
  bool bytes_at_once = false;  // the processor multiplies bytes (VNNI)

  bool is_integer() const { return type != WeightType::bfloat16; }
};

inline constexpr int64_t int4_group = 128;
// Most rows of B whose integer sums cannot overflow.
inline constexpr int64_t most_int8_rows = 1 << 16;

// Whether the processor has instructions that multiply bytes.
bool multiplies_bytes();
// Bytes of B in this type.
int64_t narrow_bytes(WeightType type, int64_t k, int64_t n);
// Packs a constant B, or columns of it from `first`, once for all users. Refuses numbers without a finite scale.
std::shared_ptr<const NarrowWeights> narrow_weights(const Constant &b, WeightType type, int64_t k, int64_t n,
                                                    int64_t ldb, bool transposed = false, int64_t first = 0);

// Addresses of A's codes, in separate rows or overlapping windows: row i at i * step, in `parts` pieces of k / parts
// codes (whole quads of int8 if several), `apart` apart. scales: one per row, or of all rows if `one`.
struct NarrowRows {
  const void *codes;
  const float *scales;
  int64_t step, parts, apart;
  bool one;
};
// The product with integer codes given.
void narrow_gemm(const NarrowWeights &b, int64_t m, int64_t first, int64_t n, const NarrowRows &a, const float *d,
                 int64_t ldd, float *c, int64_t ldc, bool relu = false) noexcept;

// An image with rows of `row` numbers, and the padding around it.
struct NarrowImage {
  int64_t rows, row, above, below, left, right;
  int64_t width() const { return left + row + right; }
};
// Bytes per code.
int64_t narrow_code(const NarrowWeights &b);
// Bytes of the codes of a padded image.
int64_t narrow_scratch(const NarrowWeights &b, const NarrowImage &image);
// Quantizes the image as one row; returns its scale.
float narrow_codes(const NarrowWeights &b, const NarrowImage &image, const float *src, void *codes) noexcept;

// Bytes of scales and codes of m rows of k numbers.
int64_t narrow_scratch(int64_t m, int64_t k);
// Quantizes the rows; does nothing for bfloat16.
void narrow_rows(const NarrowWeights &b, int64_t m, const float *a, int64_t lda, void *scratch) noexcept;
// Columns [first, first + n) of C = A B + D, D as in small_gemm; first is a multiple of packed_panel. c and d start at
// column `first`. scratch: the output of narrow_rows.
void narrow_gemm(const NarrowWeights &b, int64_t m, int64_t first, int64_t n, const float *a, int64_t lda,
                 const void *scratch, const float *d, int64_t ldd, float *c, int64_t ldc, bool relu = false) noexcept;

}  // namespace dl4::kernels
