// Reads models from ONNX files, and writes them.
#pragma once

#include <memory>
#include <string>

#include "graph/model.hpp"
#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

bool is_onnx(const Source &source);

// folder: directory of external tensors; "": none. Refuses with UNSUPPORTED, naming node and op, what no layer can do.
std::shared_ptr<graph::Model> load_onnx(const Source &source, const graph::Settings &settings, Budget &budget,
                                        const std::string &folder);

// Refuses with UNSUPPORTED, naming the layer, what has no counterpart.
std::string onnx_bytes(const graph::Model &m);

}  // namespace dl4::io
