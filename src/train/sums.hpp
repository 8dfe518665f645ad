// Measures summed over batches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/objective.hpp"

namespace dl4::train {

// For each row of Results, consecutively; empty before the first batch.
struct Sums {
  std::vector<double> values;

  bool empty() const { return values.empty(); }
  void add(const Sums &o);
};

// Results of the sums: the loss, each output's loss if there are several, and the metrics.
class Results {
 public:
  static constexpr size_t most = 4096;  // limit for the host's buffers, and for names in a history
  // Refuses metrics with more numbers.
  Results(const Objective &objective, const graph::Model &model);

  // As in Keras's logs: "loss", "<output>_loss", then each output's metrics. A duplicate name gets a number ("mae",
  // "mae_1"); a weighted metric first gets a prefix ("weighted_mae"). A metric of several numbers has a name for each:
  // "f1_score[0]".
  const std::vector<std::string> &names() const { return names_; }
  // Whether larger values of that name are better. None: unknown.
  std::optional<bool> rises(size_t name) const;
  size_t sums() const { return sums_; }
  // Number of measures of a batch: the losses, then the sums of the metrics.
  size_t measured() const { return sums_ - losses_; }
  // Adds the measures of a batch of so many rows; losses become totals.
  void add_up(const float *measured, double rows, Sums &to) const;
  // The results, in the order of names(); valid until the next call. Allocates nothing.
  const std::vector<double> &of(const Sums &sums);

 private:
  struct Row {
    kinds::Of<kinds::Metric> metric;  // null: a loss, with total and number of samples
    size_t sums, results;
  };
  void add(const std::string &name, kinds::Of<kinds::Metric> metric, kinds::Metric::Size size);

  std::vector<Row> rows_;
  std::vector<std::string> names_;
  std::vector<double> numbers_;
  size_t losses_ = 0, sums_ = 0;
};

}  // namespace dl4::train
