// Repeats or reverses positions of an axis. Rows are the positions of all [outer, n], `inner` elements each; [begin,
// end) counts them.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// y: each row repeated `times` times. size: bytes of an element, bytes: of a row.
void repeat(int64_t size, int64_t bytes, int64_t times, const void *x, void *y, int64_t begin, int64_t end) noexcept;

// The same with linear interpolation towards the nearer neighbour; clamped at the ends.
struct Blend {
  int64_t n, inner, times;
};
void repeat_linear(const Blend &b, const float *x, float *y, int64_t begin, int64_t end) noexcept;
// Each position sums the gradients of its own copies and its share in those of its neighbours. Rows are those of dx.
void repeat_linear_grad(const Blend &b, const float *dy, float *dx, int64_t begin, int64_t end) noexcept;

// y: the rows of each n in reverse order.
void flip(int64_t bytes, int64_t n, const void *x, void *y, int64_t begin, int64_t end) noexcept;

}  // namespace dl4::kernels
