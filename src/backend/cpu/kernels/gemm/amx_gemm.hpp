// Products of float32 by the tiles of AMX, which multiply bfloat16.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/kernels/gemm/gemm.hpp"

namespace dl4::kernels {

// Each number is the exact sum of three bfloat16, x = x0 + x1 + x2, and a product is
//   a2 b0 + a1 b1 + a0 b2 + a1 b0 + a0 b1 + a0 b0,
// summed in this order for each 32 of k, in float32. What is left out is below 2^-24 of |a| |b|.
// The parts are normal numbers where each row of A and each column of B is zero or has its largest number between 2^-50
// and 2^60. Rows of A and columns of B that are not, those with NaN and infinity too, are multiplied by small_gemm.
//
// Has the processor tiles, and lets the system this process use them? It is asked once, by the first call.
bool has_tiles() noexcept;

inline constexpr int most_tile_products = 6;
// For k > 0 and no by_row; nullptr where both sides are transposed, or a constant b has such a column. products: 6; the
// last 3 of them, which leave out 2^-16 of |a| |b|; or the last one, the product of rounded sides. Needs has_tiles().
std::unique_ptr<Kernel> amx_gemm(const Gemm &g, int64_t slices, const Constant *b = nullptr,
                                 int products = most_tile_products);

}  // namespace dl4::kernels
