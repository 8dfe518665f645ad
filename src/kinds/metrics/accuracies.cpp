// The comparisons behind the accuracies.
#include "kinds/metrics/accuracies.hpp"

#include <limits>

namespace dl4::kinds {

using ops::Binary, ops::Emit, ops::Id;

namespace {

Id as_float(Emit &e, Id flags) { return cast(e, flags, DType::f32); }

}  // namespace

Id binary_matches(Emit &e, Id y_true, Id y_pred, float threshold) {
  auto [t, p] = matched(e, y_true, y_pred);
  return as_float(e, binary(e, Binary::equal, t, as_float(e, binary(e, Binary::greater, p, e.scalar(threshold)))));
}

Id categorical_matches(Emit &e, Id y_true, Id y_pred) {
  auto [t, p] = matched(e, y_true, y_pred);
  return as_float(e, binary(e, Binary::equal, argmax(e, t, -1), argmax(e, p, -1)));
}

Id class_numbers(Emit &e, Id y_true, Id y_pred) {
  const Shape t = e.shape(y_true), p = e.shape(y_pred);
  if (p.rank() < 2) fail(Code::shape_mismatch, "predictions have shape ", p, ", expected a last axis of classes");
  Id labels = t.rank() == p.rank() && t.last() == 1 ? squeeze(e, y_true, p.rank() - 1) : y_true;
  if (!compatible(e.shape(labels), p.first(p.rank() - 1)))
    fail(Code::shape_mismatch, "targets have shape ", t, ", expected class numbers for predictions ", p);
  return labels;
}

Id sparse_matches(Emit &e, Id y_true, Id y_pred) {
  Id labels = class_numbers(e, y_true, y_pred);
  DType t = e.dtype(labels);
  if (t == DType::u8 || t == DType::boolean) labels = cast(e, labels, t = DType::i32);
  return as_float(e, binary(e, Binary::equal, labels, cast(e, argmax(e, y_pred, -1), t)));
}

Id top_k_matches(Emit &e, Id labels, Id y_pred, int64_t k) {
  Id rows = reshape(e, y_pred, 0, {free_dim, e.shape(y_pred).last()});
  Id own = pick(e, rows, reshape(e, labels, 0, {free_dim}));
  Id larger = as_float(e, binary(e, Binary::greater, rows, expand_dims(e, own, 1)));
  Id among = binary(e, Binary::less, reduce(e, ops::Reduce::sum, larger, {1}), e.scalar(static_cast<float>(k)));
  Id finite = binary(e, Binary::less, unary(e, ops::Unary::abs, own), e.scalar(std::numeric_limits<float>::infinity()));
  return reshape_like(e, as_float(e, binary(e, Binary::logical_and, among, finite)), labels);
}

}  // namespace dl4::kinds
