// Masks in layers; a mask covers its value's first axes.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

// The mask with axes of size 1 appended up to `rank`, so that it broadcasts against its value.
ops::Id spread(ops::Emit &e, ops::Id mask, int rank);
// x where its mask holds, else v; x itself without a mask.
ops::Id where_valid(ops::Emit &e, ops::Id mask, ops::Id x, double v);
// A mask passed for x, as bool; one for a single sample applies to all.
ops::Id given_for(ops::Emit &e, ops::Id mask, ops::Id x);
// Whether a mask of this shape fits the first axes of x.
bool is_mask_of(const Shape &mask, const Shape &x);
// The mask of input 0, if passed in any shape: the layer handles it.
ops::Id mask_as_given(Call &c);
// Whether the mask holds anywhere along an axis.
ops::Id any(ops::Emit &e, ops::Id mask, int axis, bool keepdims);

ops::Id both(ops::Emit &e, ops::Id mask, ops::Id other);  // logical and; either may be none
// Logical or of masks of one rank; none if any of them is none.
ops::Id any_of(ops::Emit &e, const std::vector<ops::Id> &masks);

}  // namespace dl4::kinds
