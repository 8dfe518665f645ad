// Max and average pooling of NHWC images or NDHWC volumes. Padding is ignored: average divides by the number of cells
// inside the image.
#pragma once

#include <cstdint>

namespace dl4::kernels {

// Windows along one axis of n cells. Adaptive windows divide the axis: window i covers i * n / out to (i + 1) * n /
// out, rounded outwards to whole cells.
struct PoolAxis {
  int64_t n = 1, size = 1, out = 1, stride = 1, pad = 0;
};

// Every window has at least one cell inside the image.
struct Pool {
  int64_t n = 0, c = 1;
  PoolAxis d, h, w;
  bool adaptive = false;

  int64_t cells() const { return d.n * h.n * w.n; }
  int64_t outputs() const { return d.out * h.out * w.out; }
};

// y[n, (od,) oh, ow, c] for rows [begin, end) of all n * od * oh output rows. Propagates NaN.
void max_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept;
void average_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept;

// dx[n, (d,) h, w, c] for images [begin, end), overwritten. The gradient of a maximum goes to the first cell that
// equals it, in row-major order.
void max_pool_grad(const Pool &p, const float *x, const float *y, const float *dy, float *dx, int64_t begin,
                   int64_t end) noexcept;
void average_pool_grad(const Pool &p, const float *dy, float *dx, int64_t begin, int64_t end) noexcept;

}  // namespace dl4::kernels
