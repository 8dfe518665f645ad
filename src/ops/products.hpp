// The choice of a kernel for one matrix product, for every op that contains one.
#pragma once

#include <memory>
#include <optional>

#include "kernels/gemm.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

// Source i as kernels want it when it is constant.
std::optional<kernels::Constant> constant_source(const Site &site, int i);

// For outputs without elements.
std::unique_ptr<kernels::Kernel> nothing();

// What the product takes on one thread, roughly.
double product_microseconds(const kernels::Gemm &g);
// Into how many slices the site cuts it.
int64_t product_slices(const Site &site, const kernels::Gemm &g);

// The best kernel for g; its arguments are those of kernels::Gemm. b: the right-hand side is this constant.
std::unique_ptr<kernels::Kernel> product(const Site &site, const kernels::Gemm &g, int64_t slices,
                                         const kernels::Constant *b = nullptr);

}  // namespace dl4::ops
