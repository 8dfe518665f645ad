// Writes ops with bodies, and ensure_size.
#pragma once

#include "io/onnx/write/writer.hpp"

namespace dl4::io::onnx {

void write_branch(Writer &w, const Listed &said);
void write_while(Writer &w, const Listed &said);
// Cumulative products, for which ONNX has no op: a Scan.
void write_products(Writer &w, const Listed &said);
void write_ensure_size(Writer &w, const Listed &said);

}  // namespace dl4::io::onnx
