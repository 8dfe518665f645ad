// Sum of squares, in double, cut into slices.
#pragma once

#include <memory>

#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

// Source: n floats; destination: one. Slices start at multiples of `block`; there is at least one.
[[gnu::cold]] std::unique_ptr<Kernel> square_sum(int64_t n, int64_t slices, int64_t block);

}  // namespace dl4::kernels
