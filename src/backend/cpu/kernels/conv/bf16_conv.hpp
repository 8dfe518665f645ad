// Convolution of operands that are rounded to bfloat16, which are taken where they lie.
#pragma once

#include <memory>

#include "backend/cpu/kernels/conv/conv.hpp"

namespace dl4::kernels {

// Arguments and bits of blocked_conv() with `bfloat16`. nullptr for groups, volumes, windows with gaps along rows,
// negative pads, and where a row of a window has an odd count of numbers.
[[gnu::cold]] std::unique_ptr<Kernel> bf16_conv(const Conv &conv, int64_t slices, const Constant *weights = nullptr);

}  // namespace dl4::kernels
