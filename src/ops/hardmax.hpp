// The largest of an axis as weights.
#pragma once

#include "ops/emit.hpp"

namespace dl4::ops {

// 1 for the first of the largest along an axis, else 0. The gradient is softmax's: straight through.
Id hardmax(Emit &e, Id x, int axis = -1);

}  // namespace dl4::ops
