// What the LSTM and its gradient have in common.
#pragma once

#include "dispatch/lstm.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

namespace lstm_dst = dispatch::lstm_dst;
using enum dispatch::LstmSource;

// Sources of the backward step.
namespace lstm_grad_src {
enum { gates, cells, recurrent_kernel, c0, mask, dy, dh, dc, count };
}

struct LstmDiffs {
  Id gates, h0, c0;  // gates: by x kernel + bias, (B, T, 4U)
};
LstmDiffs lstm_grad(Emit &e, const std::array<Id, lstm_grad_src::count> &src, bool go_backwards);

}  // namespace dl4::ops
