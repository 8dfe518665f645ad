// Chooses the kernel of a matrix product, for every op that contains one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "base/cpu.hpp"

namespace dl4::dispatch {

// Rough time of the product on one thread.
double product_microseconds(const kernels::Gemm &g);
// Number of slices for the product at this site.
int64_t product_slices(const Site &site, const kernels::Gemm &g);

// The best kernel for g; arguments as for kernels::Gemm. b: the right-hand side, if constant.
std::unique_ptr<kernels::Kernel> product(const Site &site, const kernels::Gemm &g, int64_t slices,
                                         const kernels::Constant *b = nullptr);

// The candidates product() tries, in order, on a processor of this type with nothing switched off.
std::vector<Price> product_prices(const kernels::Gemm &g, bool constant, const Machine &machine);

// Number of part products (kernels/gemm/amx_gemm.hpp) for m x k by k x n in the kernel of this name. 0 if it is
// switched off, the processor has no tiles, or the product is too small.
int tile_products(const Site &site, std::string_view kernel, int64_t m, int64_t n, int64_t k);

// A batch axis: length and strides of both sides (0: broadcast).
struct BatchAxis {
  int64_t size, step_a, step_b;
};
// The same for a batch along several axes, item by item; C is dense.
std::unique_ptr<kernels::Kernel> product_by_item(const Site &site, const kernels::Gemm &g,
                                                 std::span<const BatchAxis> axes, int64_t slices);

// Candidates that can be switched off.
std::vector<std::string> product_switches();

}  // namespace dl4::dispatch
