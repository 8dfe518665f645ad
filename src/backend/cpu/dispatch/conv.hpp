// The choice of a kernel for a convolution and for its gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/kernels/conv/conv.hpp"
#include "base/cpu.hpp"

namespace dl4::dispatch {

// The best kernel for c at known shapes; its arguments are those of kernels::Conv. weights: they are this constant.
std::unique_ptr<kernels::Kernel> conv(const Site &site, const kernels::Conv &c, const kernels::Constant *weights);
std::unique_ptr<kernels::Kernel> conv_data(const Site &site, const kernels::Conv &c, const kernels::Constant *weights);
std::unique_ptr<kernels::Kernel> conv_weights(const Site &site, const kernels::Conv &c);

// What conv() takes the first of that can be made, on a processor of this type, where nothing is switched off.
std::vector<Price> conv_prices(const kernels::Conv &c, bool constant_weights, cpu::Type type);

// The candidates that can be switched off.
std::vector<std::string> conv_switches();

}  // namespace dl4::dispatch
