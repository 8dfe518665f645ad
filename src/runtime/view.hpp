// The caller's tensors, as runs access them.
#pragma once

#include "base/tensor.hpp"

namespace dl4::runtime {

// strides in elements; null: dense, row-major.
struct View {
  DType dtype = DType::f32;
  Shape shape;
  void *data = nullptr;
  const int64_t *strides = nullptr;
};

// Refuse another number of outputs, and one that is strided or of another type or shape.
inline void check_count(std::span<const View> out, size_t expected) {
  if (out.size() != expected) fail(Code::invalid_argument, "expected ", expected, " outputs, got ", out.size());
}
inline void check_dense(size_t i, const View &out) {
  if (out.strides) fail(Code::unsupported, "output ", i, ": expected a dense tensor, got a strided one");
}
inline void check_output(size_t i, const View &out, DType dtype, const Shape &shape) {
  if (out.dtype != dtype || out.shape != shape)
    fail(Code::shape_mismatch, "output ", i, ": expected ", dtype, ' ', shape, ", got ", out.dtype, ' ', out.shape);
}

// Whether two dense views of so many elements share memory.
inline bool overlap(const View &a, int64_t n_a, const View &b, int64_t n_b) {
  const auto *begin_a = static_cast<const std::byte *>(a.data), *begin_b = static_cast<const std::byte *>(b.data);
  const int64_t bytes_a = n_a * size_of(a.dtype), bytes_b = n_b * size_of(b.dtype);  // bounded: tensors that exist
  return n_a > 0 && n_b > 0 && begin_a < begin_b + bytes_b && begin_b < begin_a + bytes_a;
}

}  // namespace dl4::runtime
