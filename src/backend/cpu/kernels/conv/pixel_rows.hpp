// Shared by convolutions that read pixels in place, in blocks of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::kernels {

inline constexpr int64_t block_src = 1 << 17;     // source floats per block: fits the L2 cache
inline constexpr int64_t block_pixels = 256;      // destination pixels per block: fits L1 with a panel's filters
inline constexpr int64_t most_scratch = 1 << 22;  // floats per slice

// For each destination row, the rows of taps inside the image; empty if all are.
inline std::vector<PackedGemm::Range> taps_inside(const Conv &c) {
  std::vector<PackedGemm::Range> inside;
  bool all = true;
  for (int64_t y = 0; y < c.oh; ++y) {
    const int64_t top = checked_mul(y, c.stride_h) - c.pad_top, above = std::max<int64_t>(0, -top), below = c.h - top;
    const int64_t last = std::clamp<int64_t>((below + c.dil_h - 1) / c.dil_h, 0, c.kh);
    inside.push_back({std::min((above + c.dil_h - 1) / c.dil_h, last), last});
    all &= inside.back().first == 0 && last == c.kh;
  }
  if (all) inside.clear();
  return inside;
}

}  // namespace dl4::kernels
