// Windows along an axis, for convolutions and pooling.
#pragma once

#include <algorithm>
#include <string>

#include "ops/ops.hpp"

namespace dl4::ops {

struct Windows {
  int64_t out = 0, pad_before = 0;
};

// `out` is free if n is. Refuses windows that don't fit or exceed the limit of a dim; `what` names their size in
// messages: "kernel_size".
inline Windows windows(const char *op, const char *what, int64_t n, int64_t size, int64_t stride, int64_t dilation,
                       Padding padding) {
  if (size < 1) fail(Code::shape_mismatch, op, ": ", what, " must be at least 1, got ", size);
  int64_t reach = checked_add(checked_mul(size - 1, dilation), 1);
  std::string dilated = dilation > 1 ? text(" (", reach, " cells with dilation_rate ", dilation, ")") : "";
  if (reach > max_dim)
    fail(Code::invalid_argument, op, ": ", what, ' ', size, dilated, " passes the limit of ", max_dim, " cells");
  if (n == free_dim) return {free_dim, 0};
  if (padding == Padding::valid) {
    if (reach > n) fail(Code::shape_mismatch, op, ": ", what, ' ', size, dilated, " does not fit in ", n);
    return {(n - reach) / stride + 1, 0};
  }
  int64_t out = n / stride + (n % stride != 0);
  if (padding == Padding::causal) return {out, reach - 1};
  int64_t over = checked_add(checked_mul(out - 1, stride), reach) - n;
  return {out, std::max<int64_t>(over, 0) / 2};
}

// The same for pooling along spatial axis `axis`, from 0.
Windows pool_windows(const Pool &how, int axis, int64_t n);

}  // namespace dl4::ops
