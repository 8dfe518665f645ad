// The orthonormal factor of a tall matrix.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// a (m, n), row-major, m >= n. q: n columns of m numbers, column by column, with a = q r and a positive diagonal of r.
// Computed in double in a fixed order of additions, so that a seed gives the same weights on every processor.
void orthonormal(const float *a, int64_t m, int64_t n, double *q);

}  // namespace dl4::kernels
