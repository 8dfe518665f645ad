// Products by a matrix packed into panels. Thread-safe.
#pragma once

#include <cstdint>

#include "base/checked.hpp"
#include "backend/cpu/kernels/gemm/packed.hpp"

namespace dl4::kernels {

// B in panels of so many columns, row by row; the last panel is padded with zeros.
inline constexpr int64_t packed_panel = 32;
// Floats of the packed form.
constexpr int64_t packed_floats(int64_t k, int64_t n) { return checked_mul(round_up(n, packed_panel), k); }
// B [k, n], or stored [n, k] if transposed. `packed` is best aligned to 64 bytes.
void pack_b(int64_t k, int64_t n, const float *b, int64_t ldb, bool transposed, float *packed) noexcept;
// Packs a constant B once for all users.
std::shared_ptr<const PackedFloats> packed_panels(const Constant &b, int64_t k, int64_t n, int64_t ldb,
                                                  bool transposed = false);

// C = A B + D by a packed B, with irregular strides. Row i of group g is at a + g * group_a + i * lda, in `parts`
// pieces of k numbers that are part_a apart, and at c + g * group_c + i * ldc. B is [parts * k, n]; D as in small_gemm,
// with C's row positions.
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
  const Range *used = nullptr;  // pieces per group, as if the others were zeros; nullptr: all
  bool relu = false;            // C = relu(A B + D); not with `used`
  // Columns of the whole product, of which these start at `column`: each row of one group and part has the same bits as
  // computed alone. 0: rows computed together share their order of sums.
  int64_t by_row = 0, column = 0;
};
void packed_gemm(const PackedGemm &gemm) noexcept;
// A single matrix product.
void packed_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed, const float *d,
                 int64_t ldd, float *c, int64_t ldc, bool relu = false) noexcept;

}  // namespace dl4::kernels
