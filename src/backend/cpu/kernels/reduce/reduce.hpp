// Many values to one. The order of additions follows from the sizes alone, so the bits do too.
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "ops/functions.hpp"

namespace dl4::kernels {

using ops::Reduce;

// x is [outer, axis, inner], y is [outer, inner]. To do only some columns of a wider inner axis, give its full width as
// `row` (0 = inner) and pointers to the first column. Sums of an empty axis are 0, mean NaN, max -inf, min inf, prod 1.
// max and min of a NaN are NaN. Relative error of sums: a few times 1e-7 of the sum of |x|, whatever the length.
void reduce(Reduce f, const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, int64_t row = 0) noexcept;

// The same of integers, i32 or i64, which wrap around: sum, max, min and prod. Of an empty axis max is the least number.
void reduce_integers(Reduce f, DType type, const void *x, void *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

void any(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept;
void all(const uint8_t *x, uint8_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

// Index of the first largest along the axis; a NaN counts as largest. to: i32 or i64.
void argmax(const float *x, DType to, void *y, int64_t outer, int64_t axis, int64_t inner) noexcept;
void argmax_integers(DType type, const void *x, int32_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

double sum_squares(const float *x, int64_t n) noexcept;  // in double: does not overflow where a float would
bool all_finite(const float *x, int64_t n) noexcept;

}  // namespace dl4::kernels
