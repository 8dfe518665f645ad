// Losses: from targets and predictions to values, in ops.
#pragma once

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

// Keras's reductions of loss values. mean is sum_over_batch_size; none trains like sum.
enum class Reduction { sum_over_batch_size, sum, none, mean, mean_with_sample_weight };

// Per-item losses or metric values with any leading axes. `valid` (bool, same shape, or none) excludes items.
struct Items {
  ops::Id value = ops::none;
  ops::Id valid = ops::none;
};

class Loss : public Kind {
 public:
  static constexpr const char *category = "loss";
  static constexpr bool has_mean = true;  // whether its mean over samples is a metric of that name
  Reduction reduction = Reduction::sum_over_batch_size;
  // After a loss's own fields.
  void fields(Fields &f) override;
  // Loss values, already averaged over the last axis where Keras does so.
  virtual Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const = 0;
  // Required shape of targets for predictions of this shape; free dims match any size. Any dtype is accepted, and a
  // last axis of size 1 is optional. `target`: their actual shape, for losses that depend on it.
  virtual Shape target_shape(const Shape &prediction, const Shape & /*target*/) const { return prediction; }
  // Keras's reduction with sample weights (over the items' leading axes) and the prediction's mask; either may be none.
  ops::Id scalar(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
  // For a part of a batch, such that the parts' values sum to the batch's. `divisor`: the sum of all parts' divisor().
  ops::Id part(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask,
               ops::Id divisor) const;
  ops::Id divisor(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
  // Whether a sample's value depends on the other samples. `rank`: of the predictions.
  virtual bool joins_samples(int /*rank*/) const { return false; }
  // The result of a call: the same, or with reduction none the value of each item, weighted, and 0 where masked.
  ops::Id value(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;

 private:
  struct Weighted {
    ops::Id value, weight, valid;  // the last two may be none
  };
  Weighted weighted(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
  // Whether the divisor differs from the number of values.
  bool counts(const Weighted &w) const;
  ops::Id divisor(ops::Emit &e, const Weighted &w) const;
  ops::Id divided(ops::Emit &e, const Weighted &w, ops::Id divisor) const;
};

// ---- for implementations of kinds ---------------------------------------------------------------------------------

// Targets and predictions as float32 of equal rank; a last axis of size 1 is added to or removed from one of them.
struct Pair {
  ops::Id y_true, y_pred;
};
Pair aligned(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
// The same, refusing different shapes.
Pair matched(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
// x with axes of size 1 appended up to `rank`, or an extra last axis of size 1 removed. `what` names x in the refusal
// if it does not match the leading axes of `items`.
ops::Id leading(ops::Emit &e, ops::Id x, ops::Id items, const char *what);
// Class indices (...) or (..., 1) for predictions (..., classes), as (...).
ops::Id class_numbers(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
// The logits of y_pred, if its last op is a softmax or a sigmoid; else none.
ops::Id logits_behind(ops::Emit &e, ops::Id y_pred);

ops::Id all_ones(ops::Emit &e, ops::Id like);

}  // namespace dl4::kinds
