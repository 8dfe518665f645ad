// The choice of a kernel for a convolution and for its gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/conv/conv.hpp"

namespace dl4::dispatch {

// The best kernel for c at known shapes; its arguments are those of kernels::Conv. weights: they are this constant.
std::unique_ptr<kernels::Kernel> conv(const Site &site, const kernels::Conv &c, const kernels::Constant *weights);
std::unique_ptr<kernels::Kernel> conv_data(const Site &site, const kernels::Conv &c, const kernels::Constant *weights);
std::unique_ptr<kernels::Kernel> conv_weights(const Site &site, const kernels::Conv &c);

// The candidates that can be switched off.
std::vector<std::string> conv_switches();

}  // namespace dl4::dispatch
