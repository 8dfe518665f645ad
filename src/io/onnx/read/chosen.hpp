// Gather and Scatter with indices that are not constant, or of values with a free first axis.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

void gather_computed_elements(const Op &op);
void gather_computed_rows(const Op &op);
void scatter_computed_elements(const Op &op);
void scatter_computed_rows(const Op &op);

}  // namespace dl4::io::onnx
