// Losses: from targets and predictions to values, in ops.
// Metrics: from targets and predictions to sums over all batches, in ops, and from the sums to results.
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

class Metric : public Kind {
 public:
  static constexpr const char *category = "metric";
  std::optional<std::string> given_name;
  // Before a metric's own fields.
  void fields(Fields &f) override;
  // Its name in Keras's logs: "accuracy", "mean_squared_error".
  std::string log_name() const { return given_name ? *given_name : usual_name(); }
  virtual std::string usual_name() const;  // the kind's in snake_case
  // Whether greater values are better; none: unspecified (Keras's _direction).
  virtual std::optional<bool> rises() const { return true; }
  Json more() const override;

  // Number of sums per batch, and of results, for predictions of this shape.
  struct Size {
    int64_t sums, results;
  };
  virtual Size size(const Shape &prediction) const = 0;
  // A batch's sums: float32 of known shapes, Size::sums elements in all. They are added up over batches in double.
  virtual std::vector<ops::Id> sums(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight,
                                    ops::Id mask) const = 0;
  // Whether a batch's sums differ from the sum over its parts.
  virtual bool joins_samples(int /*rank*/) const { return false; }
  // Results from the sums over all batches. Allocates nothing.
  virtual void result(std::span<const double> sums, std::span<double> to) const = 0;
};

// A metric with sums total and count and result total / count, or 0 if the count is 0.
class MeanMetric : public Metric {
 public:
  virtual Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const = 0;
  Size size(const Shape &) const final { return {2, 1}; }
  std::vector<ops::Id> sums(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight,
                            ops::Id mask) const final;
  void result(std::span<const double> sums, std::span<double> to) const final;
};

// A metric of a trainer's config: a string is also its name in logs ("mse"); "accuracy" and "acc" depend on the shapes;
// others are parsed.
Of<Metric> metric_for(const Json &identifier);

// ---- for implementations of kinds ---------------------------------------------------------------------------------

// Total and count over samples, each the mean of its items, with weights and masks.
std::vector<ops::Id> sums_of_mean(ops::Emit &e, const Items &items, ops::Id sample_weight, ops::Id mask);
// Keras's choice between binary, categorical and sparse, for "accuracy" and "crossentropy".
enum class Targets { binary, categorical, sparse };

inline Targets targets_for(const Shape &y_true, const Shape &y_pred) {
  if (y_pred.last() == 1) return Targets::binary;
  bool sparse = y_true.rank() < y_pred.rank() || (y_true.last() == 1 && y_pred.last() > 1);
  return sparse ? Targets::sparse : Targets::categorical;
}

// Keras's divide_no_nan.
inline double quotient(double a, double b) { return b == 0 ? 0 : a / b; }

// The entry of the metric that averages a loss's items; it has the loss's fields without the reduction.
std::unique_ptr<Kind> fresh_mean_of_loss(const Entry &self);
struct MeanOfLoss : Entry {
  // Empty words: the class name is the loss's, the one in logs as of other metrics.
  MeanOfLoss(const Entry &loss, Words log_name = "", Words own = "", std::optional<bool> rises = false)
      : Entry{"metric", own.empty() ? loss.name : own, loss.doc, fresh_mean_of_loss, loss.aliases},
        loss(loss),
        log_name(log_name),
        rises(rises) {
    if (!own.empty()) aliases[loss.aliases[0].empty() ? 0 : 1] = loss.name;
  }
  const Entry &loss;
  const Words log_name;
  const std::optional<bool> rises;
};

}  // namespace dl4::kinds
