// Steps that are run while a Program is prepared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace dl4::plan {

// Runs a step that reads constants alone, whose results become constants; false, with nothing done, where it reads
// anything else or makes more than that many bytes.
bool fold(ops::Program &p, const ops::Step &step, int64_t most_bytes);

// Factors and terms for each channel that stand behind a product or a convolution go into its weights and bias, as
// those of a normalization, in a Program whose states never change: `states` has their values and gets those of new
// states. States that nothing reads any more lose theirs. Nothing happens if "fold_weights" is in `off`.
void fold_weights(ops::Program &p, std::vector<Tensor> &states, std::span<const std::string> off);

}  // namespace dl4::plan
