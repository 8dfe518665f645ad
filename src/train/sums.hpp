// What is measured, summed over batches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/objective.hpp"

namespace dl4::train {

// Of each row of Results, one behind the other; empty before the first batch.
struct Sums {
  std::vector<double> values;

  bool empty() const { return values.empty(); }
  void add(const Sums &o);
};

// The numbers that come of the sums: the loss, that of each output where there are several, and the metrics.
class Results {
 public:
  static constexpr size_t most = 4096;  // as many as a host has room for, and names as a history may have
  // Refuses metrics that give more numbers.
  Results(const Objective &objective, const graph::Model &model);

  // As in Keras's logs: "loss", "<output>_loss", then each output's metrics. A name that is taken gets a number ("mae",
  // "mae_1"), that of a weighted metric first a prefix ("weighted_mae"). A metric of several numbers has a name for
  // each: "f1_score[0]".
  const std::vector<std::string> &names() const { return names_; }
  // Is a larger value of that name better? None: unknown.
  std::optional<bool> rises(size_t name) const;
  size_t sums() const { return sums_; }
  // How many numbers a batch measures: the losses, then the sums of the metrics.
  size_t measured() const { return sums_ - losses_; }
  // The sums of a batch of so many rows, from what it measured: losses become totals.
  void add_up(const float *measured, double rows, Sums &to) const;
  // The values, in the order of names(); valid until the next call. Allocates nothing.
  const std::vector<double> &of(const Sums &sums);

 private:
  struct Row {
    kinds::Of<kinds::Metric> metric;  // null: a loss, which has its total and the number of samples
    size_t sums, results;
  };
  void add(const std::string &name, kinds::Of<kinds::Metric> metric, kinds::Metric::Size size);

  std::vector<Row> rows_;
  std::vector<std::string> names_;
  std::vector<double> numbers_;
  size_t losses_ = 0, sums_ = 0;
};

}  // namespace dl4::train
