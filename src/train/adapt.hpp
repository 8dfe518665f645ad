// What a layer learns from data before a model is trained.
#pragma once

#include <atomic>
#include <string>

#include "base/json.hpp"
#include "train/data/dataset.hpp"

namespace dl4::train {

// The config of a layer of that kind with what it learned from all inputs of a pass.
Json adapt(const std::string &kind, const Json &config, Dataset &data, int64_t memory_limit,
           const std::atomic<int32_t> *cancel);

}  // namespace dl4::train
