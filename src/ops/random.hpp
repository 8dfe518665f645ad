// What is drawn, beside ops.hpp's random_keep.
#pragma once

#include "ops/emit.hpp"

namespace dl4::ops {

// Normals of mean 0 and deviation 1, in the shape of the first `keep` axes of like and then `tail`; `draw` (int64
// scalar) counts the draws.
Id random_normal(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail);

}  // namespace dl4::ops
