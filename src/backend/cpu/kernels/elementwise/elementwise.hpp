// Elementwise functions of one and two operands, selects and conversions. Pointers may be unaligned.
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "ops/functions.hpp"

namespace dl4::kernels {

using ops::Binary, ops::binary_names, ops::is_comparison, ops::is_logical, ops::result_type, ops::supports;
using ops::grad_from, ops::GradFrom, ops::info, ops::Unary, ops::unary_table;

// params: three floats, or nullptr where the function has none. y may be x.
void unary(Unary f, const float *params, const float *x, float *y, int64_t n) noexcept;
// In place on rows x cols floats, row stride ld.
void unary_rows(Unary f, const float *params, float *x, int64_t rows, int64_t cols, int64_t ld) noexcept;
// dx = dy * f'. x_or_y: see grad_from. dx may be dy or x_or_y. Kinks as in TensorFlow: relu'(0) = 0.
void unary_grad(Unary f, const float *params, const float *dy, const float *x_or_y, float *dx, int64_t n) noexcept;

// One innermost run of a broadcast: steps are 0 (one value for all) or 1. out may be an operand with step 1 and the
// same element size. max and min propagate NaN. Integers wrap.
void binary_run(Binary f, DType t, const void *a, int64_t step_a, const void *b, int64_t step_b, void *out,
                int64_t n) noexcept;

// a where the mask byte is not 0, else b; `size` bytes an element (1, 4 or 8); steps 0 or 1.
void select_run(int64_t size, const uint8_t *mask, int64_t step_mask, const void *a, int64_t step_a, const void *b,
                int64_t step_b, void *out, int64_t n) noexcept;

// Between any two of f32, i32, i64, u8, bool. Float to integer truncates and saturates, NaN gives 0; integer to a
// narrower one saturates; anything but 0 is true.
void cast_run(DType from, DType to, const void *x, void *y, int64_t n) noexcept;

// Rounds to floats with so many exponent and mantissa bits, ties to even; overflow gives infinity.
void reduce_precision(int exponent_bits, int mantissa_bits, const float *x, float *y, int64_t n) noexcept;

// Fills with copies of the `size` bytes (1, 4 or 8) at value.
void fill(int64_t size, const void *value, void *y, int64_t n) noexcept;

// y += a * x.
void axpy(float a, const float *x, float *y, int64_t n) noexcept;

}  // namespace dl4::kernels
