// Tensors of files, made those of a model.
#pragma once

#include <vector>

#include "base/array_ref.hpp"
#include "base/tensor.hpp"

namespace dl4::io {

// As float32; t itself where it is. Refuses with CORRUPT_FILE what is neither float64 nor integers.
Tensor to_float32(const Tensor &t);

// The axes in another order: axis i of what comes is axis perm[i] of t. perm: an order of t's axes.
Tensor transposed(const Tensor &t, ArrayRef<int> perm);

// The same bytes seen with another shape. Refuses with CORRUPT_FILE one of other elements.
Tensor reshaped(const Tensor &t, const Shape &shape);

}  // namespace dl4::io
