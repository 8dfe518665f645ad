// What the LSTM and its gradient have in common.
#pragma once

#include "kernels/lstm.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

// Destinations of the forward step. The last three are there for the gradient: activated gates (B, T, 4U), cell states
// and the states each step started from (B, T, U), all in order of time.
namespace lstm_dst {
enum { y, h, c, gates, cells, h_before, count };
}
// Sources of the backward step.
namespace lstm_grad_src {
enum { gates, cells, recurrent_kernel, c0, mask, dy, dh, dc, count };
}

struct LstmDiffs {
  Id gates, h0, c0;  // gates: by x kernel + bias, (B, T, 4U)
};
LstmDiffs lstm_grad(Emit &e, const std::array<Id, lstm_grad_src::count> &src, bool go_backwards);

}  // namespace dl4::ops
