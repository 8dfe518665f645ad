// Chooses kernels for convolutions and their gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/kernels/conv/conv.hpp"
#include "base/cpu.hpp"

namespace dl4::dispatch {

// The best kernel for c at known shapes; arguments as for kernels::Conv. weights: the constant they are, if any.
std::unique_ptr<kernels::Kernel> conv(const Site &site, const kernels::Conv &c, const kernels::Constant *weights);
std::unique_ptr<kernels::Kernel> conv_data(const Site &site, const kernels::Conv &c, const kernels::Constant *weights);
std::unique_ptr<kernels::Kernel> conv_weights(const Site &site, const kernels::Conv &c);

// The candidates conv() tries, in order, on a processor of this type with nothing switched off.
std::vector<Price> conv_prices(const kernels::Conv &c, bool constant_weights, const Machine &machine);

// Candidates that can be switched off.
std::vector<std::string> conv_switches();

}  // namespace dl4::dispatch
