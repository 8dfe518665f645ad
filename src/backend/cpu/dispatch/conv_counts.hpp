// What convolutions do and move, which costs are sums of.
#pragma once

#include <algorithm>

#include "backend/cpu/dispatch/costs.hpp"
#include "base/checked.hpp"

namespace dl4::dispatch {

inline double pixels_in(const kernels::Conv &c) { return real(c.n, c.d, c.h, c.w); }
inline double pixels_out(const kernels::Conv &c) { return real(c.n, c.od, c.oh, c.ow); }
inline double rows_out(const kernels::Conv &c) { return real(c.n, c.od, c.oh); }
inline double taps(const kernels::Conv &c) { return real(c.kd, c.kh, c.kw); }
inline double images(const kernels::Conv &c) { return 4 * (pixels_in(c) * real(c.c) + pixels_out(c) * real(c.oc)); }
inline double weights(const kernels::Conv &c) { return taps(c) * real(c.c / c.groups, c.oc); }
inline bool has_strides(const kernels::Conv &c) { return std::max({c.stride_d, c.stride_h, c.stride_w}) > 1; }
inline double moved(const kernels::Conv &c, const Machine &m) { return m.moved(images(c), images(c) + 4 * weights(c)); }

// Pairs of a place of the window and a tap that meet the input, along an axis.
inline double meetings(int64_t n, int64_t out, int64_t taps, int64_t stride, int64_t dilation, int64_t before) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t shift = before - tap * dilation;  // of place 0
    const int64_t first = shift > 0 ? (shift + stride - 1) / stride : 0, end = (n - 1 + shift) / stride + 1;
    if (n - 1 + shift >= 0) count += std::max<int64_t>(0, std::min(out, end) - first);
  }
  return real(count);
}
inline double inside(const kernels::Conv &c) {
  return real(c.n) * meetings(c.d, c.od, c.kd, c.stride_d, c.dil_d, c.pad_front) *
         meetings(c.h, c.oh, c.kh, c.stride_h, c.dil_h, c.pad_top) *
         meetings(c.w, c.ow, c.kw, c.stride_w, c.dil_w, c.pad_left);
}

// Vectors of a group's channels, of all groups.
inline double vectors(const kernels::Conv &c, int64_t channels, const Machine &m) {
  return vectors_of(channels / c.groups, m.vector) * real(c.groups);
}

// Vectors of weights that are read for each row of the destination.
inline double row_products(const kernels::Conv &c, const Machine &m) {
  return rows_out(c) * taps(c) * real(c.c / c.groups) * vectors(c, c.oc, m);
}

}  // namespace dl4::dispatch
