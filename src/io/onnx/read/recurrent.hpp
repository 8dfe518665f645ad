// What readers of LSTM, GRU and RNN share.
#pragma once

#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

// A function of "activations", its name in small letters, with the numbers that it takes.
struct Function {
  std::string name;
  double alpha = 0, beta = 0;
};
// As many for each direction as a cell has by default.
std::vector<Function> functions_of(const Op &op, int64_t directions, std::vector<const char *> otherwise);
int64_t directions_of(const Op &op);

// A recurrent net that no layer of ours is, as a layer Scan: with peepholes, lengths, a limit of what goes into its
// functions, or other functions.
void recurrent_by_steps(const Op &op);
// Of com.microsoft: what goes into each product is quantized by its least and largest number.
void dynamic_quantize_lstm(const Op &op);

}  // namespace dl4::io::onnx
