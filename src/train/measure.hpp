// Computes a loss or metric of two tensors: a loss by a graph of one layer, a metric by its sums.
#pragma once

#include <span>
#include <string>

#include "base/json.hpp"
#include "graph/graph.hpp"
#include "runtime/executable.hpp"

namespace dl4::train {

// category: "loss" or "metric"; kind may be a word of a trainer's metrics. given: y_true, y_pred and optionally sample
// weights.
Tensor measure(const std::string &category, const std::string &kind, const Json &config,
               std::span<const runtime::View> given, const graph::Settings &settings, const runtime::Options &how);

}  // namespace dl4::train
