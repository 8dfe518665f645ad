// Keras's class_weight: sample weights by the classes of the targets.
#pragma once

#include <vector>

#include "train/data/batch.hpp"

namespace dl4::train {

class ClassWeights {
 public:
  // By class number; classes past them weigh 1.
  explicit ClassWeights(std::vector<double> weights) : weights_(weights.begin(), weights.end()) {}
  // Those of the batch's only target: class numbers (B) or (B, 1), or the largest of (B, classes). They stand until the
  // next call; after the largest batch nothing is allocated. Refuses a batch that has weights already.
  void apply(Batch &b);

 private:
  std::vector<float> weights_, of_samples_;
};

}  // namespace dl4::train
