// What the LSTM and its gradient have in common.
#pragma once

#include "backend/cpu/dispatch/lstm.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

namespace lstm_dst = dispatch::lstm_dst;
namespace lstm_grad_src = dispatch::lstm_grad_src;
using enum dispatch::LstmSource;

struct LstmDiffs {
  Id gates, h0, c0;  // gates: by x kernel + bias, (B, T, 4U)
};
LstmDiffs lstm_grad(Emit &e, const std::array<Id, lstm_grad_src::count> &src, bool go_backwards);

}  // namespace dl4::ops
