// Softmax, log-softmax and sparsemax along one axis of [outer, axis, inner], with gradients from the outputs. A NaN makes its row NaN.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// -inf has weight 0; a row of -inf only is NaN. y may be x; dx may be dy or y.
void softmax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept;
void softmax_grad(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) noexcept;

void log_softmax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept;
void log_softmax_grad(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) noexcept;

// Martins and Astudillo 2016: projection onto the simplex. scratch: axis floats per caller.
void sparsemax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner, float *scratch) noexcept;
void sparsemax_grad(const float *dy, const float *y, float *dx, int64_t outer, int64_t axis, int64_t inner) noexcept;

}  // namespace dl4::kernels
