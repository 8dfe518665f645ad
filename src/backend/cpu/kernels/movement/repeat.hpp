// Places of an axis several times, or in the opposite order. Rows are the places of all [outer, n], each of `inner`
// elements; [begin, end) counts them.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// y: each row `times` times. size: bytes of an element, bytes: of a row.
void repeat(int64_t size, int64_t bytes, int64_t times, const void *x, void *y, int64_t begin, int64_t end) noexcept;

// The same, blended with the neighbour that each copy lies towards; beyond the ends the last place goes on.
struct Blend {
  int64_t n, inner, times;
};
void repeat_linear(const Blend &b, const float *x, float *y, int64_t begin, int64_t end) noexcept;
// Each place gathers what it gave to its own copies and to those of its neighbours. Rows are those of dx.
void repeat_linear_grad(const Blend &b, const float *dy, float *dx, int64_t begin, int64_t end) noexcept;

// y: the rows of each n from the last to the first.
void flip(int64_t bytes, int64_t n, const void *x, void *y, int64_t begin, int64_t end) noexcept;

}  // namespace dl4::kernels
