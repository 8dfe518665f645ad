// Shared by readers of LSTM, GRU and RNN.
#pragma once

#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

// An entry of "activations" in lower case, with its parameters.
struct Function {
  std::string name;
  double alpha = 0, beta = 0;
};
// As many per direction as a cell has by default.
std::vector<Function> functions_of(const Op &op, int64_t directions, std::vector<const char *> otherwise);
int64_t directions_of(const Op &op);

// A recurrent network that no layer supports, as a layer Scan: with peepholes, lengths, clipping, or other activations.
void recurrent_by_steps(const Op &op);
// com.microsoft: quantizes each product's input by its minimum and maximum.
void dynamic_quantize_lstm(const Op &op);

}  // namespace dl4::io::onnx
