// What the weights of a quantized layer may hold.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.hpp"

namespace dl4::io {

// Refuses with CORRUPT_FILE, by the weight's name, values with which a quantized layer has no numbers: scales that are
// 0 or not finite, zero points outside of 4 bits, groups that are not there. values: in the order of the weights; those
// without data are not looked at.
void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights, const std::vector<Tensor> &values);
void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights);  // of what they hold

}  // namespace dl4::io
