// Steps on whole batches: one Program computes gradients and updates the weights.
#pragma once

#include "train/steps/steps.hpp"

namespace dl4::train {

class Local final : public Steps {
 public:
  explicit Local(Training &t) : Steps(t), measured_(t.results.measured()) {}
  const Sums &run(Task task, const Batch &b, const std::atomic<int32_t> *cancel) override;

 private:
  std::vector<float> measured_;
};

}  // namespace dl4::train
