// Losses: from targets and predictions to numbers, in ops.
#pragma once

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

// Keras's words for how loss values become one number; mean is sum_over_batch_size, none trains like sum.
enum class Reduction { sum_over_batch_size, sum, none, mean, mean_with_sample_weight };

// Per-item losses or metric values: any leading axes; `valid` (bool, same shape) leaves items out, or none.
struct Items {
  ops::Id value = ops::none;
  ops::Id valid = ops::none;
};

class Loss : public Kind {
 public:
  static constexpr const char *category = "loss";
  Reduction reduction = Reduction::sum_over_batch_size;
  // Behind those of a loss's own.
  void fields(Fields &f) override;
  // Loss values, already averaged over the last axis where Keras does.
  virtual Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const = 0;
  // The shape that targets must have for predictions of this shape; free dims where any will do. Any dtype will do, and
  // a last axis of 1 may be there or be left out. `target` is the shape they have, for a loss that goes by it.
  virtual Shape target_shape(const Shape &prediction, const Shape & /*target*/) const { return prediction; }
  // Keras's reduction with sample weights (leading axes of the items) and the prediction's mask; either may be none.
  ops::Id scalar(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
  // Of one part of a batch: the parts' numbers add up to that of the batch. `divisor`: what divisor() of all of them
  // adds up to.
  ops::Id part(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask,
               ops::Id divisor) const;
  ops::Id divisor(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
  // Is the value of a sample another one beside other samples? `rank`: of the predictions.
  virtual bool joins_samples(int /*rank*/) const { return false; }
  // What a call of it gives: the same, or with reduction none a value for each item, weighted and 0 where it is masked.
  ops::Id value(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;

 private:
  struct Weighted {
    ops::Id value, weight, valid;  // the last two may be none
  };
  Weighted weighted(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
  // Is it divided by something else than the number of values?
  bool counts(const Weighted &w) const;
  ops::Id divisor(ops::Emit &e, const Weighted &w) const;
  ops::Id divided(ops::Emit &e, const Weighted &w, ops::Id divisor) const;
};

// ---- for the kinds -------------------------------------------------------------------------------------------------

// Targets and predictions as float32 of one rank (a last axis of 1 is added to or taken from one of them).
struct Pair {
  ops::Id y_true, y_pred;
};
Pair aligned(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
// The same, refusing shapes that differ.
Pair matched(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
// x with axes of 1 after its own up to `rank`; a last axis of 1 too many is taken away. `what` is for the refusal when
// x is not the leading axes of `items`.
ops::Id leading(ops::Emit &e, ops::Id x, ops::Id items, const char *what);
// Class numbers (...) or (..., 1) for predictions (..., classes), as (...).
ops::Id class_numbers(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
// What y_pred was made from, if the last step is a softmax or a sigmoid; else none.
ops::Id logits_behind(ops::Emit &e, ops::Id y_pred);

ops::Id all_ones(ops::Emit &e, ops::Id like);

}  // namespace dl4::kinds
