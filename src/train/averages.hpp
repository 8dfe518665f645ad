// Averages of the weights over the updates, which an optimizer with use_ema keeps.
#pragma once

#include "train/training.hpp"

namespace dl4::train {

class Averages {
 public:
  explicit Averages(Training &t) : t_(t) {}
  bool kept() const { return t_.setup.optimizer->use_ema; }
  // They become the weights, as by Keras's finalize_variable_values; nothing where none are kept.
  void take();
  // They and the weights change places; refused where none are kept.
  void swap();
  // They become what the weights are.
  void settle();

 private:
  Training &t_;
};

}  // namespace dl4::train
