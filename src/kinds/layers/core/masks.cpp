// Broadcasting masks against values.
#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {

using ops::Emit;
using ops::Id;

Id spread(Emit &e, Id mask, int rank) {
  while (e.rank(mask) < rank) mask = ops::expand_dims(e, mask, -1);
  return mask;
}

Id where_valid(Emit &e, Id mask, Id x, double v) {
  if (mask == ops::none) return x;
  return ops::select(e, spread(e, mask, e.rank(x)), x, e.scalar(v, e.dtype(x)));
}

Id given_for(Emit &e, Id mask, Id x) {
  mask = ops::cast(e, mask, DType::boolean);
  const Shape s = e.shape(mask), of = e.shape(x);
  if (s.rank() == 0 || (s[0] == of[0] && s[0] != free_dim)) return mask;
  return both(e, mask, spread(e, ops::fill(e, DType::boolean, 1, x, 1, {}), s.rank()));
}

bool is_mask_of(const Shape &mask, const Shape &x) {
  if (mask.rank() > x.rank()) return false;
  return compatible(mask.rank() > 0 && mask[0] == 1 ? mask.with(0, x[0]) : mask, x.first(mask.rank()));
}

Id mask_as_given(Call &c) {
  const auto given = c.symbols("mask");
  if (given.empty() || given[0].value == ops::none) return given.empty() ? c.in[0].mask : ops::none;
  return ops::cast(c.e, given[0].value, DType::boolean);
}

Id any(Emit &e, Id mask, int axis, bool keepdims) { return ops::reduce(e, ops::Reduce::max, mask, {axis}, keepdims); }

ops::Id both(ops::Emit &e, ops::Id mask, ops::Id other) {
  if (mask == ops::none) return other;
  return other == ops::none ? mask : binary(e, ops::Binary::logical_and, mask, other);
}

Id any_of(Emit &e, const std::vector<Id> &masks) {
  Id all = masks[0];
  for (size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == ops::none || e.rank(masks[i]) != e.rank(masks[0])) return ops::none;
    if (i > 0) all = ops::binary(e, ops::Binary::logical_or, all, masks[i]);
  }
  return all;
}

}  // namespace dl4::kinds
