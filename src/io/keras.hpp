// Keras's files: .keras, .weights.h5 and .h5 of whole models.
#pragma once

#include <memory>

#include "graph/model.hpp"
#include "io/file.hpp"

namespace dl4::io {

bool is_zip(const Source &source);
bool is_hdf5(const Source &source);

// A .keras file. Refuses with UNSUPPORTED, by the layer's name, what our layers can't do, and code.
std::shared_ptr<graph::Model> load_keras(const Source &source, const graph::Settings &settings, bool verified);

}  // namespace dl4::io
