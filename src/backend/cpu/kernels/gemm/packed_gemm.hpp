// Products by a matrix that was laid out in panels before. Any thread.
#pragma once

#include <cstdint>

#include "base/checked.hpp"
#include "backend/cpu/kernels/gemm/packed.hpp"

namespace dl4::kernels {

// B in panels of so many columns, a row [packed_panel] after the other, the last panel padded with zeros.
inline constexpr int64_t packed_panel = 32;
// Floats the packed form takes.
constexpr int64_t packed_floats(int64_t k, int64_t n) { return checked_mul(round_up(n, packed_panel), k); }
// B [k, n], or stored [n, k] when transposed. `packed` is best aligned to 64 bytes.
void pack_b(int64_t k, int64_t n, const float *b, int64_t ldb, bool transposed, float *packed) noexcept;
// A constant B so, made once for all that want it.
std::shared_ptr<const PackedFloats> packed_panels(const Constant &b, int64_t k, int64_t n, int64_t ldb,
                                                  bool transposed = false);

// C = A B + D by a packed B, where A and C need not be matrices of one step: row i of group g is at
// a + g * group_a + i * lda, in `parts` pieces of k numbers that are part_a apart, and at c + g * group_c + i * ldc. B
// is [parts * k, n]; D as in small_gemm, its rows where C's are.
struct PackedGemm {
  // Pieces [first, last).
  struct Range {
    int64_t first, last;
  };
  int64_t m, n, k;
  const float *a;
  int64_t lda;
  const float *packed, *d;
  int64_t ldd;
  float *c;
  int64_t ldc;
  int64_t groups = 1, group_a = 0, group_c = 0, parts = 1, part_a = 0;
  const Range *used = nullptr;  // by each group, as if the other pieces were zeros; nullptr: all
  bool relu = false;            // C = relu(A B + D); not with `used`
  // Columns of a product of which these are those from `column` on: each row of one group and part has the bits that it
  // has alone among all of them. 0: rows that are computed at once share their order of sums.
  int64_t by_row = 0, column = 0;
};
void packed_gemm(const PackedGemm &gemm) noexcept;
// One matrix by another.
void packed_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed, const float *d,
                 int64_t ldd, float *c, int64_t ldc, bool relu = false) noexcept;

}  // namespace dl4::kernels
