// Reads models from ONNX files, and writes them.
#pragma once

#include "io/formats.hpp"

namespace dl4::io {

// Refuses with UNSUPPORTED, naming node and op, what no layer can do.
std::shared_ptr<graph::Model> load_onnx(const Source &source, const graph::Settings &settings, Budget &budget,
                                        const Loading &how, Told &told);

// Refuses with UNSUPPORTED, naming the layer, what has no counterpart.
std::string onnx_bytes(const graph::Model &m);

}  // namespace dl4::io
