// What metrics of binary decisions share: how much lies on which side of thresholds.
#pragma once

#include <span>
#include <vector>

#include "kinds/metric.hpp"

namespace dl4::kinds {

// Right and wrong decisions at one threshold; a prediction above it says 1.
struct Counts {
  double true_positives, false_positives, true_negatives, false_negatives;
};

// Predictions are sorted into the buckets between thresholds, those of targets 0 and 1 apart: the sums do not grow with
// what is asked of them, and each threshold's counts follow.
class Thresholds {
 public:
  // In [0, 1], in any order; `beyond`: one below and one above those are added, as AUC does; `evenly`: they are
  // even_thresholds(), which may be too few to be told.
  explicit Thresholds(const std::vector<double> &list = {0.5}, bool beyond = false, bool evenly = false);

  int64_t count() const { return static_cast<int64_t>(order_.size()); }
  int64_t sums() const { return 2 * (count() + 1); }  // of one label
  // weight: none, or in the shape of p. per_label: sums for each number of the last axis.
  ops::Id emit(ops::Emit &e, ops::Id t, ops::Id p, ops::Id weight, bool per_label = false) const;
  // f(i, counts at thresholds[i]) from the highest threshold to the lowest.
  template <class F>
  void each(std::span<const double> sums, F f) const {
    const size_t n = order_.size();
    double negatives = 0, positives = 0;
    for (size_t i = 0; i <= n; ++i) negatives += sums[i], positives += sums[n + 1 + i];
    Counts c{0, 0, negatives, positives};
    for (size_t i = n; i-- > 0;) {
      c.false_positives += sums[i + 1];
      c.true_positives += sums[n + 2 + i];
      c.true_negatives = negatives - c.false_positives;
      c.false_negatives = positives - c.true_positives;
      f(order_[i], c);
    }
  }

 private:
  bool evenly_ = false;
  std::vector<size_t> order_;  // of the list, ascending
  std::vector<float> bounds_;  // what is above the i-th is above that threshold
};

// Evenly from 0 to 1; of one, 0.5.
std::vector<double> even_thresholds(int64_t count);
// Sample weights in the shape of p, or none.
ops::Id weights_like(ops::Emit &e, ops::Id sample_weight, ops::Id p);

}  // namespace dl4::kinds
