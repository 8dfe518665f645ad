// Tensors of files, made those of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/array_ref.hpp"
#include "base/tensor.hpp"

namespace dl4::io {

// As float32; t itself where it is. Refuses with CORRUPT_FILE what is neither float64 nor integers.
Tensor to_float32(const Tensor &t);

// Floats of 2 bytes as float32.
void widen_half(std::span<const uint16_t> from, float *to);
void widen_bfloat16(std::span<const uint16_t> from, float *to);
// The first byte that is neither 0 nor 1.
std::optional<uint8_t> other_than_flag(std::string_view bytes);

// The axes in another order: axis i of what comes is axis perm[i] of t. perm: an order of t's axes.
Tensor transposed(const Tensor &t, ArrayRef<int> perm);

// The same bytes seen with another shape. Refuses with CORRUPT_FILE one of other elements.
Tensor reshaped(const Tensor &t, const Shape &shape);

}  // namespace dl4::io
