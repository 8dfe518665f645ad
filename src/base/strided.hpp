// Copies between dense row-major memory and memory with strides.
#pragma once

#include <cstddef>

#include "base/shape.hpp"

namespace dl4 {

// Do these strides (in elements) lay the shape out densely, row-major?
bool is_dense(const Shape &shape, const int64_t *strides);
// The strides that do.
void dense_strides(const Shape &shape, int64_t *strides);

// size: bytes of an element.
void gather_strided(std::byte *dense, const std::byte *strided, const Shape &shape, const int64_t *strides,
                    int64_t size);
void scatter_strided(std::byte *strided, const std::byte *dense, const Shape &shape, const int64_t *strides,
                     int64_t size);

}  // namespace dl4
