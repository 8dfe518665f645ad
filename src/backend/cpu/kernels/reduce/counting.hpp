// Bucketize, sums per bucket, top k, hardmax, and a test for finite values.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// y[i]: number of the ascending bounds that are below x[i].
void bucketize(const float *x, int64_t n, const float *bounds, int64_t count, int32_t *y) noexcept;

// y[b]: sum of the weights (nullptr: ones) of all i with buckets[i] == b, in double (`sums` is scratch of count
// doubles). Other buckets are ignored.
void bucket_sums(const int32_t *buckets, const float *weights, int64_t n, double *sums, float *y,
                 int64_t count) noexcept;

// among[i]: whether x[i] is one of the k largest of its row; of equal values the first ones are.
void top_k(const float *x, uint8_t *among, int64_t rows, int64_t width, int64_t k) noexcept;

// x and y [outer, axis, inner]: 1 for the first maximum along the axis, else 0.
void hardmax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

// Number of elements before the first NaN or infinity.
int64_t finite_from(const float *x, int64_t n) noexcept;

}  // namespace dl4::kernels
