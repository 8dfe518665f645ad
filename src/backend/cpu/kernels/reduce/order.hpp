// Rows in order, and sums and products that run along an axis.
#pragma once

#include <cstdint>

#include "ops/functions.hpp"

namespace dl4::kernels {

// Each row of x in order, and from which place each element comes; of equal ones the first stands first, NaN last. One
// of the two may be null: it is not wanted. float32, int32 or int64.
void sort_rows(DType type, const void *x, void *y, int32_t *places, int64_t rows, int64_t width,
               bool descending) noexcept;

using ops::Cumulate;
// x and y [outer, axis, inner], float32, int32 or int64, which wrap around.
void cumulate(const Cumulate &how, DType type, const void *x, void *y, int64_t outer, int64_t axis,
              int64_t inner) noexcept;

}  // namespace dl4::kernels
