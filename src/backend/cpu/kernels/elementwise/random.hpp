// Random fills in TensorFlow's layouts. Element i of a stream has the same bits whichever range is generated.
#pragma once

#include <cstdint>

#include "base/rng.hpp"

namespace dl4::kernels {

// y[0, n) = elements [first, first + n) of the stream. low <= y < high (rounding may reach high).
void fill_uniform(Stream s, int64_t first, float low, float high, float *y, int64_t n) noexcept;
void fill_normal(Stream s, int64_t first, float mean, float stddev, float *y, int64_t n) noexcept;
// No value beyond two stddev.
void fill_truncated_normal(Stream s, int64_t first, float mean, float stddev, float *y, int64_t n) noexcept;

// 1 / (1 - rate) where kept, else 0. rate is in [0, 1).
void keep_mask(Stream s, int64_t first, float rate, float *y, int64_t n) noexcept;

}  // namespace dl4::kernels
