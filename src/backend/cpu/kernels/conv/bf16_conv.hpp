// Convolution with operands rounded to bfloat16, read without patches.
#pragma once

#include <memory>

#include "backend/cpu/kernels/conv/conv.hpp"

namespace dl4::kernels {

// Arguments and bits of blocked_conv() with `bfloat16`. nullptr for groups, volumes, dilation along rows, negative
// pads, and window rows with an odd count of numbers.
[[gnu::cold]] std::unique_ptr<Kernel> bf16_conv(const Conv &conv, int64_t slices, const Constant *weights = nullptr);

}  // namespace dl4::kernels
