// What is done to freshly written output while it is still in cache, such as an activation.
#pragma once

#include <cstdint>
#include <functional>

namespace dl4::kernels {

// Changes rows x cols floats in place, the rows ld apart, element by element: it must not depend on where the range
// begins. Must not throw. Empty = none.
using Epilogue = std::function<void(float *values, int64_t rows, int64_t cols, int64_t ld)>;

}  // namespace dl4::kernels
