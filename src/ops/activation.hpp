// The function that a product or a convolution applies to its output while it is in cache.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/epilogue.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {

struct Activation {
  std::optional<kernels::Unary> f;
  std::array<float, 3> param{};

  kernels::Epilogue epilogue() const {
    if (!f) return {};
    return [f = *f, param = param](float *v, int64_t rows, int64_t cols, int64_t ld) {
      kernels::unary_rows(f, param.data(), v, rows, cols, ld);
    };
  }

  std::string attributes() const {
    if (!f) return {};
    std::string s = text(", ", kernels::info(*f).name);
    for (int i = 0; i < kernels::info(*f).params; ++i) s += text(i ? ' ' : '(', number(param[static_cast<size_t>(i)]));
    return kernels::info(*f).params ? s + ')' : s;
  }
};

}  // namespace dl4::ops
