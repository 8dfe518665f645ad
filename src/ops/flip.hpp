// An axis from its end to its beginning.
#pragma once

#include "ops/emit.hpp"

namespace dl4::ops {

Id flip(Emit &e, Id x, int axis);

}  // namespace dl4::ops
