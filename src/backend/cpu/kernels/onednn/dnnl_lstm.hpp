// LSTM by oneDNN: one direction, gates i f c o, tanh and sigmoid.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/kernels/gemm/packed.hpp"
#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

struct LstmShape {
  int64_t t = 0, b = 0, i = 0, h = 0;  // steps, sequences, inputs, hidden units
  bool reverse = false;                // from the last step to the first; y[:, s] is the state after step s
  int64_t at_once = INT64_MAX;         // steps per call of oneDNN: a run can be cancelled between calls
};

// All batch-major: x [b, t, i], y [b, t, h], h0, c0, hT, cT [b, h]; w [i, 4h], r [h, 4h], bias [4h].
// Arguments: x, w, r, bias, h0, c0 -> y, hT, cT. bias, h0 and c0 may be null (zeros), any output may be null. Slices
// are sequences of the batch. w and r: both constant, or both nullptr. Returns nullptr where it does not apply (any
// zero size).
[[gnu::cold]] std::unique_ptr<Kernel> dnnl_lstm(const LstmShape &s, int64_t slices, const Constant *w = nullptr,
                                                const Constant *r = nullptr);

}  // namespace dl4::kernels
