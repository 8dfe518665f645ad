// Shared by readers of LSTM, GRU and RNN.
#pragma once

#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

// An entry of "activations" in lower case, with its parameters.
struct Function {
  std::string name;
  double alpha = 0, beta = 0;
};
// By direction: as many as the cell has by default.
std::vector<std::vector<Function>> functions_of(const Op &op);

// A recurrent network that no layer supports, as a layer Scan: with peepholes, lengths, clipping, or other activations.
// com.microsoft's DynamicQuantizeLSTM quantizes each product's input by its minimum and maximum.
void recurrent_by_steps(const Op &op);

}  // namespace dl4::io::onnx
