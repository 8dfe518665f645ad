// Sorted rows, and cumulative sums and products.
#pragma once

#include <cstdint>

#include "ops/functions.hpp"

namespace dl4::kernels {

// Sorts each row of x (values, source positions); stable, NaN last. Either output may be null. float32, int32 or int64.
void sort_rows(DType type, const void *x, void *y, int32_t *places, int64_t rows, int64_t width,
               bool descending) noexcept;

using ops::Cumulate;
// x and y [outer, axis, inner], float32, int32 or int64. Integers wrap.
void cumulate(const Cumulate &how, DType type, const void *x, void *y, int64_t outer, int64_t axis,
              int64_t inner) noexcept;

}  // namespace dl4::kernels
