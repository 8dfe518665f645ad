// Rows that belong to segments by number: sums, maxima and softmax over each, in any order of the rows. Letters: E
// rows, V segments, B any batch axes, N any axes.
//
// ids (B, E), of any integer dtype: a row whose id is negative belongs to no segment; an id from V on is a fault of the
// run. V is the axis of `like` that stands where E stands in ids; its leading axes are B; only its shape is read.
#pragma once

#include "ops/emit.hpp"

namespace dl4::ops {

Id segment_sum(Emit &e, Id x, Id ids, Id like);      // x (B, E, N) -> (B, V, N); nothing is 0
Id segment_max(Emit &e, Id x, Id ids, Id like);      // the same; of nothing the lowest float
Id segment_softmax(Emit &e, Id x, Id ids, Id like);  // x (B, E, N) -> (B, E, N); 0 for a row of no segment
Id segment_gather(Emit &e, Id x, Id ids);            // x (B, V, N) -> (B, E, N): its segment's row, or 0

// int64 (n): 0, 1, ... for the n elements of an axis of `like`, of which only the shape is read.
Id indices(Emit &e, Id like, int axis);

}  // namespace dl4::ops
