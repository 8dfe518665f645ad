// What is measured, summed over batches.
#pragma once

#include <cstddef>
#include <vector>

namespace dl4::train {

// total / count for each name of the objective.
struct Sums {
  std::vector<double> total, count;

  void add(const Sums &o);
  size_t size() const { return total.size(); }
  double mean(size_t i) const;
  std::vector<double> means() const;
};

}  // namespace dl4::train
