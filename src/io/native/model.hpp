// Native files: a model, a trainer's checkpoint, a stream's states.
#pragma once

#include "io/formats.hpp"

namespace dl4::io {
namespace native {

std::shared_ptr<graph::Model> load(const Source &source, const graph::Settings &settings, Budget &budget,
                                   const Loading &how, Told &told);
void save(const graph::Model &m, const Write &write);
// By name, from any safetensors file.
std::vector<Tensor> weights(const graph::Model &m, const Source &source, Budget &budget, const Naming &naming,
                            bool verified);
void save_trainer(const train::Trainer &t, const Write &write);
void load_trainer(train::Trainer &t, const Source &source, Budget &budget);

}  // namespace native

// A stream's states by name.
using States = std::vector<std::pair<std::string, Tensor>>;
std::string save_states(States states);
// Into these tensors; refuses other names, types and shapes without changing anything.
void load_states(const States &states, const Source &source);

}  // namespace dl4::io
