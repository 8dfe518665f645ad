// The native files: a model, and a checkpoint of a trainer.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "graph/model.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

std::string save_model(const graph::Model &m);
// verify: compare checksums. Refuses files that are not whole (CORRUPT_FILE), that are newer than this library
// (VERSION), and safetensors files of others.
std::shared_ptr<graph::Model> load_model(std::span<const std::byte> bytes, const graph::Settings &settings,
                                         bool verify);

// Weights, optimizer slots, counters and the place in fit.
std::string save_checkpoint(const train::Trainer &t);
// Into a trainer of the same model and options; refuses any other, and then has changed nothing.
void load_checkpoint(train::Trainer &t, std::span<const std::byte> bytes);

}  // namespace dl4::io
