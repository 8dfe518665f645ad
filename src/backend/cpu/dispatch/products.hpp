// The choice of a kernel for one matrix product, for every op that contains one.
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

// What the product takes on one thread, roughly.
double product_microseconds(const kernels::Gemm &g);
// Into how many slices the site cuts it.
int64_t product_slices(const Site &site, const kernels::Gemm &g);

// The best kernel for g; its arguments are those of kernels::Gemm. b: the right-hand side is this constant.
std::unique_ptr<kernels::Kernel> product(const Site &site, const kernels::Gemm &g, int64_t slices,
                                         const kernels::Constant *b = nullptr);
// The same of a step: a long one of many rows has phases, so many rows each, between which a run can end.
std::unique_ptr<kernels::Kernel> product_in_parts(const Site &site, const kernels::Gemm &g, int64_t slices,
                                                  const kernels::Constant *b);

// What product() takes the first of, on a processor of this type, where nothing is switched off.
std::vector<Price> product_prices(const kernels::Gemm &g, bool constant, cpu::Type type);

// How many products of parts (kernels/gemm/amx_gemm.hpp) make a product of m x k by k x n in the kernel of this name; 0
// where that is switched off, the processor has no tiles, or it is too small for them.
int tile_products(const Site &site, std::string_view kernel, int64_t m, int64_t n, int64_t k);

// An axis of a batch: its length, and how far each side moves along it (0 = broadcast).
struct BatchAxis {
  int64_t size, step_a, step_b;
};
// The same for a batch along several axes, one item at a time; C is dense.
std::unique_ptr<kernels::Kernel> product_by_item(const Site &site, const kernels::Gemm &g,
                                                 std::span<const BatchAxis> axes, int64_t slices);

// The candidates that can be switched off.
std::vector<std::string> product_switches();

}  // namespace dl4::dispatch
