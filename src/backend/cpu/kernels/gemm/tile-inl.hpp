// Per instruction set: shared by the tiles of all products.
#if defined(DL4_KERNELS_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_TILE_INL
#undef DL4_KERNELS_TILE_INL
#else
#define DL4_KERNELS_TILE_INL
#endif

#include "backend/cpu/kernels/simd/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// Sums per element for a tile of so many vectors of 16, so that additions overlap. Products are always divided into
// tiles that fit 32 registers of 16 floats, so the sums and their order are the same on every processor. With fewer or
// narrower registers, a tile is computed in parts (`registers_of`).
inline constexpr int sums_of(int64_t vectors) { return vectors >= 6 ? 1 : vectors >= 3 ? 2 : 4; }
template <int vectors>
inline constexpr int tile_sums = sums_of(vectors);

// Rows of a part of a tile with U sums for each of N vectors.
template <int U, int N>
inline constexpr int part_rows = HWY_MAX(1, (registers - N - 2) / (U * N));

// relu that keeps NaN, like the activation.
template <class DX>
HWY_INLINE hn::Vec<DX> relu_of(DX dx, hn::Vec<DX> v) {
  return hn::IfThenElse(hn::Le(v, hn::Zero(dx)), hn::Zero(dx), v);
}

// Adds the U sums of each vector and D if there is one, applies relu if requested, and writes C: M rows of N vectors,
// the last with `cols` columns. At least `whole` vectors are complete.
template <int whole, class DX, int U, int M, int N, class Product>
HWY_INLINE void finish_tile(const Product &p, DX dx, const hn::Vec<DX> (&sum)[U][M][N], const float *d, float *c,
                            int64_t cols, bool relu = false) {
  constexpr int64_t vector = hn::MaxLanes(DX());
  DL4_UNROLL
  for (int i = 0; i < M; ++i, c += p.ldc, d = d ? d + p.ldd : nullptr) DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    hn::Vec<DX> v = sum[0][i][j];
    DL4_UNROLL
    for (int u = 1; u < U; ++u) v = hn::Add(v, sum[u][i][j]);
    const FirstOf<DX> last = first_of(dx, cols - j * vector);
    if (d) v = hn::Add(v, j < whole ? hn::LoadU(dx, d + j * vector) : last.get(dx, d + j * vector));
    if (relu) v = relu_of(dx, v);
    if (j < whole)
      hn::StoreU(v, dx, c + j * vector);
    else
      last.put(dx, v, c + j * vector);
  }
}

// body(rows, first row) for blocks of at most `most` rows, as even as possible.
template <int most, class Body>
HWY_INLINE void row_blocks(int64_t m, const Body &body) {
  const int64_t count = (m + most - 1) / most, even = count ? m / count : 0, longer = m - even * count;
  for (int64_t n = 0, i = 0; n < count; ++n) {
    const int64_t size = even + (n < longer);
    body(size, i);
    i += size;
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
