// Work on freshly written output while it is in cache, such as an activation.
#pragma once

#include <cstdint>
#include <functional>

#include "backend/cpu/kernels/elementwise/function.hpp"

namespace dl4::kernels {

// Changes rows x cols floats with row stride ld in place, elementwise: results must not depend on where the range
// starts. Must not throw. Empty: none.
struct Epilogue {
  std::function<void(float *values, int64_t rows, int64_t cols, int64_t ld)> run = {};
  bool relu = false;  // it is relu, which a product may apply before storing
  Function then{};    // its function, if known

  explicit operator bool() const { return static_cast<bool>(run); }
  void operator()(float *values, int64_t rows, int64_t cols, int64_t ld) const { run(values, rows, cols, ld); }
};

}  // namespace dl4::kernels
