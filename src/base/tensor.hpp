// Memory with a shape, owned or the caller's.
#pragma once

#include <cstddef>
#include <memory>

#include "base/dtype.hpp"
#include "base/shape.hpp"

namespace dl4 {

// A reference-counted block, 64-byte aligned.
using Bytes = std::shared_ptr<std::byte>;
// Refuses with OUT_OF_MEMORY; contents are undefined. 0 bytes give a pointer that must not be read. Uses large pages as
// long as half of the last one is used; for `working` memory, which all work goes through, a quarter suffices.
Bytes allocate(int64_t bytes, bool working = false);
// Returns idle released blocks, 64 MiB at most, to the system.
void release_idle() noexcept;

// A contiguous row-major tensor that keeps its memory alive.
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  Bytes data;

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return checked_mul(elements(), size_of(dtype)); }
  template <class T>
  T *as() const {
    return reinterpret_cast<T *>(data.get());
  }
  // The whole memory, as bytes and as characters.
  std::span<std::byte> memory() const { return {data.get(), static_cast<size_t>(bytes())}; }
  std::string_view chars() const { return {as<char>(), static_cast<size_t>(bytes())}; }
};

Tensor make_tensor(DType dtype, const Shape &shape);  // uninitialized
Tensor make_zeros(DType dtype, const Shape &shape);
Tensor clone(const Tensor &t);

}  // namespace dl4
