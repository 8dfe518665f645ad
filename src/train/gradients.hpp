// The user's access to gradients accumulated since the last update.
#pragma once

#include "train/training.hpp"

namespace dl4::train {

class Gradients {
 public:
  explicit Gradients(Training &t) : t_(t) {}
  bool empty() const;
  // The mean gradient of a weight; "*" concatenates all trainable ones.
  Tensor mean(const std::string &weight) const;
  // Replaces the gradient or adds to it; without accumulated gradients it is zero. Setting all with "*" counts as one
  // batch. `v` is dense.
  void set(const std::string &weight, const Tensor &v, bool add);
  // Discards accumulated gradients.
  void zero();

 private:
  Training &t_;
};

}  // namespace dl4::train
