// What a model without inputs gives.
#pragma once

#include <optional>
#include <vector>

#include "graph/model.hpp"

namespace dl4::graph {

// Its outputs, of no more than that many bytes each; none if a run may give others, or it has weights.
std::optional<std::vector<Tensor>> constant_outputs(const Model &m, int64_t most_bytes);

}  // namespace dl4::graph
