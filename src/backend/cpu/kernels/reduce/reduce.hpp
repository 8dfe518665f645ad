// Reductions. The order of additions depends on the sizes only, so results have the same bits on every processor.
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "ops/functions.hpp"

namespace dl4::kernels {

using ops::Reduce;

// x is [outer, axis, inner], y is [outer, inner]. For a range of columns of a wider inner axis, pass the full width as
// `row` (0 = inner) and pointers to the first column. An empty axis gives sum 0, mean NaN, max -inf, min inf, prod 1.
// max and min propagate NaN. The relative error of sums is a few times 1e-7 of the sum of |x|, whatever the length.
void reduce(Reduce f, const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, int64_t row = 0) noexcept;

// Integer sum, max, min and prod, i32 or i64, which wrap. An empty axis has the lowest number as max.
void reduce_integers(Reduce f, DType type, const void *x, void *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

void any(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept;
void all(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

// Index of the first maximum along the axis; NaN counts as largest. to: i32 or i64.
void argmax(const float *x, DType to, void *y, int64_t outer, int64_t axis, int64_t inner) noexcept;
void argmax_integers(DType type, const void *x, int32_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

double sum_squares(const float *x, int64_t n) noexcept;  // in double: no overflow where float would
bool all_finite(const float *x, int64_t n) noexcept;

}  // namespace dl4::kernels
