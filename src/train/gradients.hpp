// What was accumulated since the last update, as the user reads and writes it.
#pragma once

#include "train/training.hpp"

namespace dl4::train {

class Gradients {
 public:
  explicit Gradients(Training &t) : t_(t) {}
  bool empty() const;
  // The mean for a weight; "*" joins all trainable ones.
  Tensor mean(const std::string &weight) const;
  // Puts another in its place, or adds to it; where nothing was accumulated it is zero. All of it, put in place with
  // "*", counts as one batch. `v` is dense.
  void set(const std::string &weight, const Tensor &v, bool add);
  // Forgets what was accumulated.
  void zero();

 private:
  Training &t_;
};

}  // namespace dl4::train
