// Keras's files: .keras, .weights.h5 and whole models in .h5.
#pragma once

#include "io/formats.hpp"

namespace dl4::io {

// From this library's JSON, or that of Keras's to_json().
graph::Architecture read_architecture(const Json &j);

// Zeros in place of a weight that is not read; untouched pages take no memory.
Tensor zeros_for(const graph::Weight &w);

namespace keras {

bool is_file(const Source &source, Budget &budget);
// A .keras file, or a whole model of Keras 2 or 3 in .h5. Refuses with UNSUPPORTED, naming the layer, unsupported
// layers, and code.
std::shared_ptr<graph::Model> load(const Source &source, const graph::Settings &settings, Budget &budget,
                                   const Loading &how, Told &told);
void save(const graph::Model &m, const Write &write);
void save_weights(const graph::Model &m, const Write &write);
// From a .keras, .weights.h5 or .h5 file of the same layers.
std::vector<Tensor> weights(const graph::Model &m, const Source &source, Budget &budget, const Naming &naming,
                            bool verified);
// A trainer's model, with its training config.
void save_trainer(const train::Trainer &t, const Write &write);
// Loads weights and optimizer variables of a Keras 3 .keras or .h5 file into a trainer of the same layers and
// optimizer. Refuses others without changing anything.
void load_trainer(train::Trainer &t, const Source &source, Budget &budget);

}  // namespace keras
}  // namespace dl4::io
