// Means and variances from data.
#pragma once

#include <memory>
#include <vector>

#include "kinds/adapter.hpp"

namespace dl4::kinds {

// Learns "mean" and "variance" for each index of these axes, over all others.
std::shared_ptr<Adapter> moments_from_data(Json config, std::vector<int64_t> axes);

}  // namespace dl4::kinds
