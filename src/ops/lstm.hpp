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
// Sources of the backward step.
namespace lstm_grad_src {
enum { gates, cells, recurrent_kernel, c0, mask, dy, dh, dc, count };
}

}  // namespace dl4::ops
