// Counting, as metrics do: numbers sorted into buckets, what lies in each added up, and which are the largest.
#pragma once

#include "ops/emit.hpp"

namespace dl4::ops {

// How many of the bounds (K, ascending) lie below each element: int32, 0 for NaN.
Id bucketize(Emit &e, Id x, Id bounds);
// (count): for each number the sum, in double, of the weights whose bucket (int32, any axes) it is; without weights how
// many there are. What lies in no bucket counts nowhere.
Id bucket_sums(Emit &e, Id buckets, Id weights, int64_t count);
Id top_k(Emit &e, Id x, int64_t k);  // bool: which are the k largest of the last axis, of equals the first

}  // namespace dl4::ops
