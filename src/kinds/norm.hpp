// Norms along axes.
#pragma once

#include "ops/ops.hpp"

namespace dl4::kinds {

// Sum of squares over the axes, keeping them with size 1.
inline ops::Id square_sums(ops::Emit &e, ops::Id x, const std::vector<int64_t> &axes) {
  std::vector<int> over;
  for (int64_t axis : axes) over.push_back(e.shape(x).axis(axis));
  return reduce(e, ops::Reduce::sum_squares, x, over, true);
}

// Its square root.
inline ops::Id norms(ops::Emit &e, ops::Id x, const std::vector<int64_t> &axes) {
  return unary(e, ops::Unary::sqrt, square_sums(e, x, axes));
}

// x divided by its norm along the axes, or by `least` if that is larger.
inline ops::Id normalised(ops::Emit &e, ops::Id x, const std::vector<int64_t> &axes, double least = 1e-7) {
  ops::Id squares = binary(e, ops::Binary::max, square_sums(e, x, axes), e.scalar(static_cast<float>(least * least)));
  return mul(e, x, unary(e, ops::Unary::rsqrt, squares));
}

}  // namespace dl4::kinds
