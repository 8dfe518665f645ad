// Numbers sorted into buckets, what lies in each added up, and which are the largest, or finite.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// y[i]: how many of the ascending bounds are below x[i].
void bucketize(const float *x, int64_t n, const float *bounds, int64_t count, int32_t *y) noexcept;

// y[b]: the sum of the weights (nullptr: ones) of those i with buckets[i] == b, in double (`sums`, count of them);
// other buckets are left out.
void bucket_sums(const int32_t *buckets, const float *weights, int64_t n, double *sums, float *y,
                 int64_t count) noexcept;

// among[i]: is x[i] one of the k largest of its row? Of equal ones the first are.
void top_k(const float *x, uint8_t *among, int64_t rows, int64_t width, int64_t k) noexcept;

// x and y [outer, axis, inner]: 1 for the first largest along the axis, else 0.
void hardmax(const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept;

// How many elements there are before the first that is a NaN or an infinity.
int64_t finite_from(const float *x, int64_t n) noexcept;

}  // namespace dl4::kernels
