// Keras's class_weight: sample weights by class.
#pragma once

#include <vector>

#include "train/data/batch.hpp"

namespace dl4::train {

class ClassWeights {
 public:
  // By class index; classes without an entry weigh 1.
  explicit ClassWeights(std::vector<double> weights) : weights_(weights.begin(), weights.end()) {}
  // Sets the sample weights of a batch with one target: class indices (B) or (B, 1), or (B, classes), where the largest
  // element decides. They are valid until the next call. Refuses batches with sample weights. Allocates nothing once
  // the largest batch was seen.
  void apply(Batch &b);

 private:
  std::vector<float> weights_, of_samples_;
};

}  // namespace dl4::train
