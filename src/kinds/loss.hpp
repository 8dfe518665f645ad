// Losses and metrics: from targets and predictions to numbers, in ops.
#pragma once

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

// Per-item losses or metric values: any leading axes; `valid` (bool, same shape) leaves items out, or none.
struct Items {
  ops::Id value = ops::none;
  ops::Id valid = ops::none;
};

class Loss : public Kind {
 public:
  static constexpr const char *category = "loss";
  std::string reduction = "sum_over_batch_size";
  // Loss values, already averaged over the last axis where Keras does.
  virtual Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const = 0;
  // The dtype and shape that targets must have for predictions of `shape`; free dims where any will do.
  virtual Shape target_shape(const Shape &prediction) const { return prediction; }
  // Keras's reduction with sample weights (leading axes of the items) and the prediction's mask; either may be none.
  ops::Id scalar(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
};

// total / count over all batches of an epoch is the metric.
struct Mean {
  ops::Id total = ops::none, count = ops::none;  // float32 scalars
};

class Metric : public Kind {
 public:
  static constexpr const char *category = "metric";
  // Keras's name of it in logs: "accuracy", "mean_squared_error".
  virtual std::string log_name() const = 0;
  virtual Mean mean(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const = 0;
};

}  // namespace dl4::kinds
