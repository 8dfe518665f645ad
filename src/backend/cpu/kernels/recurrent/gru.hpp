// One step of a GRU that applies the reset gate after the product: Keras's gate order z r h, tanh and sigmoid.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// x, r [rows, 3h]: pre-activations from inputs and from the state; before, after [rows, h]: states.
void gru_cell(int64_t rows, int64_t hidden, const float *x, const float *r, const float *before, float *after) noexcept;

// The gradients of x, r and before from d [rows, h], the gradient of `after`. Each may be nullptr, or the buffer of its
// own operand.
void gru_cell_grad(int64_t rows, int64_t hidden, const float *x, const float *r, const float *before, const float *d,
                   float *dx, float *dr, float *dbefore) noexcept;

}  // namespace dl4::kernels
