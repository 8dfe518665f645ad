// Conversion of file tensors to a model's.
#pragma once

#include <optional>

#include "base/array_ref.hpp"
#include "base/tensor.hpp"

namespace dl4::io {

// As float32; t itself if it is. Refuses types other than float64 and integers with CORRUPT_FILE.
Tensor to_float32(const Tensor &t);

// 2-byte floats to float32.
void widen_half(std::span<const uint16_t> from, float *to);
void widen_bfloat16(std::span<const uint16_t> from, float *to);
// The first byte other than 0 and 1.
std::optional<uint8_t> other_than_flag(std::string_view bytes);

// Permutes axes: axis i of the result is axis perm[i] of t.
Tensor transposed(const Tensor &t, ArrayRef<int> perm);

// The same bytes in another shape. Refuses another number of elements with CORRUPT_FILE.
Tensor reshaped(const Tensor &t, const Shape &shape);

}  // namespace dl4::io
