// The sum of all squares, in double, cut into slices.
#pragma once

#include <memory>

#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

// Source: n floats; destination: one. The slices begin at multiples of `block`; at least one is needed.
[[gnu::cold]] std::unique_ptr<Kernel> square_sum(int64_t n, int64_t slices, int64_t block);

}  // namespace dl4::kernels
