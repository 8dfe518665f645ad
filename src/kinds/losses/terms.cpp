// What the crossentropies share.
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {

using ops::Binary, ops::Emit, ops::Id, ops::none, ops::Unary;

Id smoothed(Emit &e, Id t, Id p, double smoothing) {
  if (smoothing == 0) return t;
  const int64_t classes = e.shape(p).last();
  if (classes == free_dim) fail(Code::invalid_argument, "\"label_smoothing\" needs a known number of classes");
  auto s = static_cast<float>(smoothing);
  return unary(e, Unary::scale_shift, t, {1 - s, s / static_cast<float>(classes)});
}

Id power(Emit &e, Id x, double y) {
  if (y == 2) return unary(e, Unary::square, x);
  if (y >= 1) return binary(e, Binary::pow, x, e.scalar(y));
  // Both branches of a select get gradients, so the power must not see 0.
  const Id is_zero = binary(e, Binary::equal, x, e.scalar(0));
  const Id of_others = binary(e, Binary::pow, select(e, is_zero, e.scalar(1), x), e.scalar(y));
  return select(e, is_zero, e.scalar(y == 0 ? 1 : 0), of_others);
}

Id binary_terms(Emit &e, Id t, Id p, Id logits) {
  // A softplus for each side: for a confident correct prediction the loss is tiny, not rounded to 0.
  if (logits != none)
    return add(e, mul(e, t, unary(e, Unary::softplus, unary(e, Unary::neg, logits))),
               mul(e, one_minus(e, t), unary(e, Unary::softplus, logits)));
  p = clipped(e, p);
  Id v = add(e, mul(e, t, unary(e, Unary::log, p)), mul(e, one_minus(e, t), unary(e, Unary::log, one_minus(e, p))));
  return unary(e, Unary::neg, v);
}

}  // namespace dl4::kinds
