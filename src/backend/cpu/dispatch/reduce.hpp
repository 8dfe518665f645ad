// Reductions over any set of axes.
#pragma once

#include <memory>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"

namespace dl4::dispatch {

// Reduces source 0 over the axes i with over[i] to destination 0. float32; int32 and int64 except means; bool, where
// max is "any" and min is "all".
std::unique_ptr<kernels::Kernel> reduce_axes(const Site &site, kernels::Reduce f, const std::vector<bool> &over);

}  // namespace dl4::dispatch
