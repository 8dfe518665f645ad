// Metrics: from targets and predictions to sums over all batches, in ops, and from the sums to results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kinds/loss.hpp"

namespace dl4::kinds {

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
