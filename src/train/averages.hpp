// Averages of the weights over updates, kept for optimizers with use_ema.
#pragma once

#include "train/training.hpp"

namespace dl4::train {

class Averages {
 public:
  explicit Averages(Training &t) : t_(t) {}
  bool kept() const { return t_.setup.optimizer->use_ema; }
  // Copies the averages to the weights, as Keras's finalize_variable_values does; nothing without averages.
  void take();
  // Swaps averages and weights; refused without averages.
  void swap();
  // Copies the weights to the averages.
  void settle();

 private:
  Training &t_;
};

}  // namespace dl4::train
