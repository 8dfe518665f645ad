// Max and average pooling of NHWC images. Padding is never a value: max ignores it, average divides by the real cells.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// Every window has at least one real cell.
struct Pool {
  int64_t n = 0, h = 1, w = 1, c = 1;
  int64_t kh = 1, kw = 1, oh = 1, ow = 1;
  int64_t stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0;
};

// y[n, oh, ow, c] for rows [begin, end) of all n * oh output rows. A NaN in a window is its maximum.
void max_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept;
void average_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept;

// dx[n, h, w, c] for images [begin, end); dx is overwritten. The gradient of a maximum goes to the first cell that
// holds it, row by row.
void max_pool_grad(const Pool &p, const float *x, const float *y, const float *dy, float *dx, int64_t begin,
                   int64_t end) noexcept;
void average_pool_grad(const Pool &p, const float *dy, float *dx, int64_t begin, int64_t end) noexcept;

}  // namespace dl4::kernels
