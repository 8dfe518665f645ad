// One step of a GRU whose reset gate comes after the product: Keras's gate order z r h, tanh and sigmoid.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// x, r [rows, 3h]: pre-activations from the inputs and from the state; before, after [rows, h].
void gru_cell(int64_t rows, int64_t hidden, const float *x, const float *r, const float *before, float *after) noexcept;

// What d [rows, h], the gradient of `after`, gives by x, r and before; each may be nullptr, or the buffer of
// what it belongs to.
void gru_cell_grad(int64_t rows, int64_t hidden, const float *x, const float *r, const float *before, const float *d,
                   float *dx, float *dr, float *dbefore) noexcept;

}  // namespace dl4::kernels
