// Normalises rows to a mean of 0 and a variance of 1, with the gradient.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// y = (x - mean) * by * gamma + beta with by = 1 / sqrt(variance + epsilon), for each of `rows` rows of n. Without
// `center` the mean is taken as 0. gamma and beta (n) may be null, as may the outputs mean and by (rows). y may be x.
void normalize(const float *x, const float *gamma, const float *beta, float *y, float *mean, float *by, int64_t rows,
               int64_t n, float epsilon, bool center) noexcept;

// dx from dy; `scaled`, summed over the rows, is the gradient of gamma. Either may be null, or dy.
void normalize_grad(const float *dy, const float *x, const float *mean, const float *by, const float *gamma, float *dx,
                    float *scaled, int64_t rows, int64_t n, bool center) noexcept;

}  // namespace dl4::kernels
