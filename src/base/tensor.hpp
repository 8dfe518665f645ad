// Memory with a shape: owned or the caller's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/dtype.hpp"
#include "base/shape.hpp"

namespace dl4 {

// Bytes aligned to 64, shared by count.
using Bytes = std::shared_ptr<std::byte>;
// Refuses with OUT_OF_MEMORY; the contents are undefined. 0 bytes give a pointer that must not be read. Large pages are
// taken as far as they are half used, of memory that all work goes through as far as a quarter is.
Bytes allocate(int64_t bytes, bool working = false);
// Gives the system the large blocks that were released and wait for the next one to be allocated, 64 MiB at most.
void release_idle() noexcept;

// Contiguous, row-major, in memory that it keeps alive.
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
  // All of it, as bytes and as characters.
  std::span<std::byte> memory() const { return {data.get(), static_cast<size_t>(bytes())}; }
  std::string_view chars() const { return {as<char>(), static_cast<size_t>(bytes())}; }
};

Tensor make_tensor(DType dtype, const Shape &shape);  // contents undefined
Tensor make_zeros(DType dtype, const Shape &shape);
Tensor clone(const Tensor &t);

}  // namespace dl4
