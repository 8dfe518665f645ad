// Shared by the LSTM and its gradient.
#pragma once

#include "ops/ops.hpp"

namespace dl4::ops {

// Sources of the forward step.
enum LstmSource { src_x, src_kernel, src_recurrent_kernel, src_bias, src_h0, src_c0, src_mask, src_count };
// Destinations of the forward step. The last three are for the gradient: activated gates (B, T, 4U), cell states and
// the states before each step (B, T, U), in order of time.
namespace lstm_dst {
enum { y, h, c, gates, cells, h_before, count };
}
// Sources of the backward step; destinations: the gradients of gates, h0 and c0.
namespace lstm_grad_src {
enum { gates, cells, recurrent_kernel, c0, mask, dy, dh, dc, count };
}

struct LstmDiffs {
  Id gates, h0, c0;  // gates: by x kernel + bias, (B, T, 4U)
};
LstmDiffs lstm_grad(Emit &e, const std::array<Id, lstm_grad_src::count> &src, bool go_backwards);

}  // namespace dl4::ops
