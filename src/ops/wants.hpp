// Checks of operands shared by the rules of several ops, and windows along an axis.
#pragma once

#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

inline void want_type(const char *op, const Operand &x, DType t) {
  if (x.dtype != t) fail(Code::invalid_argument, op, " expects ", t, ", got ", x.dtype);
}
inline void want_float(const char *op, const Operand &x) { want_type(op, x, DType::f32); }
inline void want_number(const char *op, const Operand &x) {
  if (x.dtype != DType::f32 && x.dtype != DType::i32 && x.dtype != DType::i64)
    fail(Code::invalid_argument, op, " expects float32, int32 or int64, got ", x.dtype);
}
inline void want_index(const char *what, const Operand &x) {
  if (x.dtype == DType::boolean || x.dtype == DType::f64 || x.dtype == DType::string)
    fail(Code::invalid_argument, what, ": expected integers or whole float32 numbers, got ", x.dtype);
}

// The common shape of two shapes that must be equal; each may know dims that are free in the other.
inline Shape same_shape(const char *op, const Shape &a, const Shape &b) {
  if (!compatible(a, b)) fail(Code::shape_mismatch, op, " expects equal shapes, got ", a, " and ", b);
  Shape s = a;
  for (int i = 0; i < a.rank(); ++i)
    if (a[i] == free_dim && b[i] != free_dim) s = s.with(i, b[i]);
  return s;
}

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
