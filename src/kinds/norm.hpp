// Norms along axes, as several kinds need them.
#pragma once

#include <vector>

#include "ops/ops.hpp"

namespace dl4::kinds {

// Sum of squares over the axes, which stay with one element.
inline ops::Id square_sums(ops::Emit &e, ops::Id x, const std::vector<int64_t> &axes) {
  std::vector<int> over;
  for (int64_t axis : axes) over.push_back(e.shape(x).axis(axis));
  return reduce(e, ops::Reduce::sum_squares, x, over, true);
}

// The root of that.
inline ops::Id norms(ops::Emit &e, ops::Id x, const std::vector<int64_t> &axes) {
  return unary(e, ops::Unary::sqrt, square_sums(e, x, axes));
}

// x over its norm along the axes; where the norm is below `least`, over that.
inline ops::Id normalised(ops::Emit &e, ops::Id x, const std::vector<int64_t> &axes, double least = 1e-7) {
  ops::Id squares = binary(e, ops::Binary::max, square_sums(e, x, axes), e.scalar(static_cast<float>(least * least)));
  return mul(e, x, unary(e, ops::Unary::rsqrt, squares));
}

}  // namespace dl4::kinds
