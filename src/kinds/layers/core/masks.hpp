// Masks as layers use them: a mask covers the first axes of its value.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

// The mask with axes of size 1 added up to `rank`, so that it broadcasts against its value.
ops::Id spread(ops::Emit &e, ops::Id mask, int rank);
// x where its mask holds, else v; x itself without a mask.
ops::Id where_valid(ops::Emit &e, ops::Id mask, ops::Id x, double v);
// A mask that was given for x, as bool: one of a single sample holds for all samples.
ops::Id given_for(ops::Emit &e, ops::Id mask, ops::Id x);
// Does its shape fit the first axes of such an x?
bool is_mask_of(const Shape &mask, const Shape &x);
// The mask of input 0, of any shape where it was given: the layer sees to that.
ops::Id mask_as_given(Call &c);
// Does the mask hold anywhere along an axis?
ops::Id any(ops::Emit &e, ops::Id mask, int axis, bool keepdims);

ops::Id both(ops::Emit &e, ops::Id mask, ops::Id other);  // logical and; either may be none
// The OR of masks of one rank; none if any of them is none.
ops::Id any_of(ops::Emit &e, const std::vector<ops::Id> &masks);

}  // namespace dl4::kinds
