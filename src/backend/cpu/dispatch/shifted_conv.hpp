// Convolutions of few filters and many channels: a product of all pixels and the weights of all taps, whose columns are
// shifted and added.
#pragma once

#include "backend/cpu/dispatch/candidates.hpp"

namespace dl4::dispatch {

// The product: pixels [n, (d,) h, w] by all weights. By the source these are [taps, channels, filters] as they are
// stored, transposed; forward, [channels, taps, filters].
kernels::Gemm product_of(const kernels::Conv &c, bool by_source);

bool fits_shifted(const ConvAt &at, bool by_source);
double shifted_cost(const ConvAt &at, bool by_source);
std::unique_ptr<kernels::Kernel> shifted_conv(const ConvAt &at, bool by_source);

}  // namespace dl4::dispatch
