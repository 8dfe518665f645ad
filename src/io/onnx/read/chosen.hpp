// Gather and Scatter with indices that are not constant, or of values with a free first axis.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

inline constexpr int64_t most_places = int64_t{1} << 24;  // that a list names

inline Node flipped(const Op &op, Node x, int at) { return op.layer("Flip", {{"axis", at}}, {x}); }

void gather_computed_elements(const Op &op);
void gather_computed_rows(const Op &op);
void scatter_computed_elements(const Op &op);
void scatter_computed_rows(const Op &op);

}  // namespace dl4::io::onnx
