// Evaluates steps while a Program is prepared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace dl4::plan {

// Runs a step whose sources are all constants, and makes its results constants. Returns false, with nothing done, for
// other steps and for results larger than most_bytes.
bool fold(ops::Program &p, const ops::Step &step, int64_t most_bytes);

// Folds per-channel factors and terms after a product or convolution, such as a normalization's, into its weights and
// bias. The Program's states must be constant: `states` has their values and receives those of new states; states no
// longer read lose theirs. Does nothing if "fold_weights" is in `off`.
void fold_weights(ops::Program &p, std::vector<Tensor> &states, std::span<const std::string> off);

}  // namespace dl4::plan
