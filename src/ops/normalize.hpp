// Normalised rows.
#pragma once

#include "ops/emit.hpp"

namespace dl4::ops {

// (x - mean) / sqrt(variance + epsilon) over the last `axes` axes of x together, times gamma, plus beta, which have the
// shape of these axes or are none. Without `center` the mean counts as 0.
Id normalize(Emit &e, Id x, int axes, double epsilon, bool center, Id gamma = none, Id beta = none);

}  // namespace dl4::ops
