// LSTM by oneDNN: one direction, gates i f c o, tanh and sigmoid, all time steps in one call.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.hpp"
#include "kernels/packed.hpp"

namespace dl4::kernels {

struct LstmShape {
  int64_t t = 0, b = 0, i = 0, h = 0;  // steps, sequences, inputs, hidden units
  bool reverse = false;                // from the last step to the first; y[:, s] is then the state after step s
  bool training = false;               // keep a workspace for the backward kernel
};

// All batch-major: x [b, t, i], y [b, t, h], h0, c0, hT, cT [b, h]; w [i, 4h], r [h, 4h], bias [4h].
// Arguments: x, w, r, bias, h0, c0 -> y, hT, cT, workspace. bias, h0 and c0 may be null (zeros), each output may be
// null; the workspace is there only if `training`.
// Slices are sequences of the batch. w and r: both constant, or both nullptr. Returns nullptr where it does not apply
// (any zero size).
std::unique_ptr<Kernel> dnnl_lstm(const LstmShape &s, int64_t slices, const Constant *w = nullptr,
                                  const Constant *r = nullptr);

// Bytes of the workspace between dnnl_lstm and dnnl_lstm_backward of the same shape and the same number of slices; 0
// where they do not apply.
int64_t dnnl_lstm_workspace(const LstmShape &s, int64_t slices);

// Arguments: x, w, r, bias, h0, c0, y, hT, cT, workspace, dy, dhT, dcT -> dx, dw, dr, dbias, dh0, dc0. bias, h0, c0,
// dy, dhT and dcT may be null (zeros), each output may be null. hT and cT must have been written by the forward kernel.
std::unique_ptr<Kernel> dnnl_lstm_backward(const LstmShape &s, int64_t slices);

}  // namespace dl4::kernels
