// Checks of operands shared by the rules of several ops.
#pragma once

#include "ops/op.hpp"

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

}  // namespace dl4::ops
