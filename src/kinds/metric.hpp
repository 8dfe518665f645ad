// Metrics: from targets and predictions to a mean over all batches, in ops.
#pragma once

#include <optional>
#include <string>

#include "kinds/loss.hpp"

namespace dl4::kinds {

// total / count over all batches of an epoch is the metric.
struct Mean {
  ops::Id total = ops::none, count = ops::none;  // float32 scalars
};

class Metric : public Kind {
 public:
  static constexpr const char *category = "metric";
  std::optional<std::string> given_name;
  // Before those of a metric's own.
  void fields(Fields &f) override;
  // Keras's name of it in logs: "accuracy", "mean_squared_error".
  std::string log_name() const { return given_name ? *given_name : usual_name(); }
  virtual std::string usual_name() const = 0;
  Json more() const override { return {{"log_name", usual_name()}}; }
  virtual Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const = 0;
  Mean mean(ops::Emit &e, ops::Id y_true, ops::Id y_pred, ops::Id sample_weight, ops::Id mask) const;
};

// A metric as it is given to a trainer: a string is its name in logs too ("mse"), and "accuracy" and "acc" choose by
// the shapes; else it is parsed.
Of<Metric> metric_for(const Json &identifier);

// ---- for the kinds -------------------------------------------------------------------------------------------------

// The entry of the metric that is the mean of a loss's items: of its name, with its fields but for the reduction.
struct MeanOfLoss : Entry {
  MeanOfLoss(const Entry &loss, const char *log_name);
  const Entry &loss;
  const char *const log_name;
};

// Ends the file of a loss: its entry and that of its mean.
#define DL4_LOSS(T, log_name)                                             \
  void list_##T(::dl4::kinds::Entries &all) {                             \
    static const ::dl4::kinds::Entry loss = ::dl4::kinds::entry_for<T>(); \
    static const ::dl4::kinds::MeanOfLoss mean(loss, log_name);           \
    all.insert(all.end(), {&loss, &mean});                                \
  }

}  // namespace dl4::kinds
