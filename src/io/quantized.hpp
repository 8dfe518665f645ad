// Validity of a quantized layer's weights.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.hpp"

namespace dl4::io {

// Refuses with CORRUPT_FILE, naming the weight, values that give no numbers: scales that are 0 or not finite, zero
// points beyond 4 bits, missing groups. values: in the order of the weights; empty ones are skipped.
void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights, const std::vector<Tensor> &values);
void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights);  // for their current values

}  // namespace dl4::io
