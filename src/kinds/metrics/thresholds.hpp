// Shared by metrics of binary decisions: counts of predictions on either side of thresholds.
#pragma once

#include <span>
#include <vector>

#include "kinds/metric.hpp"

namespace dl4::kinds {

// Counts of right and wrong decisions at one threshold; a prediction above it is positive.
struct Counts {
  double true_positives, false_positives, true_negatives, false_negatives;
};

// Histograms of predictions between the thresholds, for targets 0 and 1 separately: the number of sums does not grow
// with the number of results, and the counts at each threshold follow.
class Thresholds {
 public:
  // Thresholds in [0, 1], in any order. `beyond`: adds one below and one above, as AUC does. `evenly`: they are
  // even_thresholds(), which with few thresholds can't be detected.
  explicit Thresholds(const std::vector<double> &list = {0.5}, bool beyond = false, bool evenly = false);

  int64_t count() const { return static_cast<int64_t>(order_.size()); }
  int64_t sums() const { return 2 * (count() + 1); }  // per label
  // weight: none, or shaped as p. per_label: sums for each index of the last axis.
  ops::Id emit(ops::Emit &e, ops::Id t, ops::Id p, ops::Id weight, bool per_label = false) const;
  // Calls f(i, counts at thresholds[i]) from the highest threshold to the lowest.
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
  std::vector<size_t> order_;  // indices into the list, in ascending order
  std::vector<float> bounds_;  // predictions above the i-th bound are above that threshold
};

// Evenly spaced from 0 to 1; a single one is 0.5.
std::vector<double> even_thresholds(int64_t count);
// Sample weights broadcast to the shape of p, or none.
ops::Id weights_like(ops::Emit &e, ops::Id sample_weight, ops::Id p);

}  // namespace dl4::kinds
