// ONNX files: a model read from one, and written as one.
#pragma once

#include <memory>
#include <string>

#include "graph/model.hpp"
#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

bool is_onnx(const Source &source);

// folder: where tensors outside of the file may be read; "" = nowhere. Refuses with UNSUPPORTED, by node and op, what
// our layers can't do.
std::shared_ptr<graph::Model> load_onnx(const Source &source, const graph::Settings &settings, Budget &budget,
                                        const std::string &folder);

// Refuses with UNSUPPORTED, by the layer's name, what has no counterpart.
std::string onnx_bytes(const graph::Model &m);

}  // namespace dl4::io
