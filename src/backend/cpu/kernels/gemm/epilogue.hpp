// What is done to freshly written output while it is still in cache, such as an activation.
#pragma once

#include <cstdint>
#include <functional>

#include "backend/cpu/kernels/elementwise/function.hpp"

namespace dl4::kernels {

// Changes rows x cols floats in place, the rows ld apart, element by element: it must not depend on where the range
// begins. Must not throw. Empty = none.
struct Epilogue {
  std::function<void(float *values, int64_t rows, int64_t cols, int64_t ld)> run = {};
  bool relu = false;  // it is relu, which a product may also do before it stores
  Function then{};    // what it computes of each, if that is known

  explicit operator bool() const { return static_cast<bool>(run); }
  void operator()(float *values, int64_t rows, int64_t cols, int64_t ld) const { run(values, rows, cols, ld); }
};

}  // namespace dl4::kernels
