// Values brought to a mean of 0 and a variance of 1 over axes, as the normalizations do it.
#pragma once

#include <vector>

#include "kinds/layer.hpp"

namespace dl4::kinds {

// The axes, which may count from the end, from 0 and ascending; refuses those that are not there or stand twice.
std::vector<int> numbered(const Shape &x, const std::vector<int64_t> &axes);

// (x - mean) / sqrt(variance + epsilon) over the axes together, times gamma, plus beta: which are as large as these
// axes, or none. Without `center` the mean counts as 0.
ops::Id standardized(ops::Emit &e, ops::Id x, const std::vector<int> &axes, double epsilon, bool center,
                     ops::Id gamma = ops::none, ops::Id beta = ops::none);

// Of as many elements as the axes, with 1 for all others from the first of them on: it broadcasts against x.
ops::Id spread_over(ops::Emit &e, ops::Id v, ops::Id x, const std::vector<int> &axes);

}  // namespace dl4::kinds
