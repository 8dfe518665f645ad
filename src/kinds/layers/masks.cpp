// Masks against their values.
#include "kinds/layers/masks.hpp"

namespace dl4::kinds {

using ops::Emit;
using ops::Id;

Id number(Emit &e, DType dtype, double v) {
  Tensor t = make_tensor(dtype, {});
  switch (dtype) {
    case DType::f32:
      *t.as<float>() = static_cast<float>(v);
      break;
    case DType::f64:
      *t.as<double>() = v;
      break;
    case DType::i32:
      *t.as<int32_t>() = static_cast<int32_t>(v);
      break;
    case DType::i64:
      *t.as<int64_t>() = static_cast<int64_t>(v);
      break;
    case DType::u8:
    case DType::boolean:
      *t.as<uint8_t>() = static_cast<uint8_t>(v);
      break;
  }
  return e.constant(std::move(t));
}

Id spread(Emit &e, Id mask, int rank) {
  while (e.rank(mask) < rank) mask = ops::expand_dims(e, mask, -1);
  return mask;
}

Id where_valid(Emit &e, Id mask, Id x, double v) {
  if (mask == ops::none) return x;
  return ops::select(e, spread(e, mask, e.rank(x)), x, number(e, e.dtype(x), v));
}

Id any(Emit &e, Id mask, int axis, bool keepdims) { return ops::reduce(e, ops::Reduce::max, mask, {axis}, keepdims); }

Id any_of(Emit &e, const std::vector<Id> &masks) {
  Id all = masks[0];
  for (size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == ops::none || e.rank(masks[i]) != e.rank(masks[0])) return ops::none;
    if (i > 0) all = ops::binary(e, ops::Binary::logical_or, all, masks[i]);
  }
  return all;
}

}  // namespace dl4::kinds
