// Norms along axes, as several kinds need them.
#pragma once

#include <vector>

#include "ops/ops.hpp"

namespace dl4::kinds {

// sqrt(sum of squares) over the axes, which stay with one element.
inline ops::Id norms(ops::Emit &e, ops::Id x, const std::vector<int64_t> &axes) {
  std::vector<int> over;
  for (int64_t axis : axes) over.push_back(e.shape(x).axis(axis));
  return unary(e, ops::Unary::sqrt, reduce(e, ops::Reduce::sum_squares, x, over, true));
}

// x over its norm along the axis; where the norm is below 1e-7, over that.
inline ops::Id normalised(ops::Emit &e, ops::Id x, int axis) {
  ops::Id squares = reduce(e, ops::Reduce::sum_squares, x, {axis}, true);
  return mul(e, x, unary(e, ops::Unary::rsqrt, binary(e, ops::Binary::max, squares, e.scalar(1e-14f))));
}

}  // namespace dl4::kinds
