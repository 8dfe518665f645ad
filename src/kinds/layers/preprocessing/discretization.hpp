// Boundaries of bins from data.
#pragma once

#include <memory>

#include "kinds/adapter.hpp"

namespace dl4::kinds {

// Learns "bin_boundaries" of `num_bins` bins with as many numbers each, up to `epsilon` of all.
std::shared_ptr<Adapter> bins_from_data(Json config, int64_t num_bins, double epsilon);

}  // namespace dl4::kinds
