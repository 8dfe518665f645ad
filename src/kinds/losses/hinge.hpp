// What the hinge losses share.
#pragma once

#include "kinds/loss.hpp"

namespace dl4::kinds {

// max(1 - y_true * y_pred, 0); targets that are all 0 or 1 become -1 and 1 first.
inline ops::Id margin(ops::Emit &e, ops::Id y_true, ops::Id y_pred) {
  using ops::Binary, ops::Id, ops::Unary;
  auto [t, p] = matched(e, y_true, y_pred);
  Id zero = e.scalar(0), one = e.scalar(1);
  Id known = binary(e, Binary::logical_or, binary(e, Binary::equal, t, zero), binary(e, Binary::equal, t, one));
  Id all = reduce(e, ops::Reduce::min, known, {});
  t = select(e, all, unary(e, Unary::scale_shift, t, {2, -1}), t);
  return binary(e, Binary::max, sub(e, one, mul(e, t, p)), zero);
}

}  // namespace dl4::kinds
