// One step of a GRU as one op.
#pragma once

#include "ops/emit.hpp"

namespace dl4::ops {

// The new state (B, U) from the products with the input and with the state, (B, 3U) each, and the state before. Gates
// z r h, sigmoid and tanh, the reset gate after the product.
Id gru_cell(Emit &e, Id from_x, Id from_h, Id h);

}  // namespace dl4::ops
