// What a trainer keeps beside the weights, for its users and callbacks.
#pragma once

#include <map>
#include <string>

#include "train/training.hpp"

namespace dl4::train {

// Gradients accumulated since the last update.
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

// Averages of the weights over updates, kept for optimizers with use_ema.
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

// Copies of all weights, kept and restored by callbacks. Each set has a number.
class WeightCopies {
 public:
  using Tensors = std::map<std::string, Tensor>;
  explicit WeightCopies(Training &t) : t_(t) {}

  void keep(size_t number);
  void restore(size_t number);  // does nothing without a copy
  void forget() { tensors.clear(); }

  // Extracts the copies from a checkpoint's tensors; refuses those of unknown weights.
  Tensors taken_from(Tensors &saved) const;
  Tensors tensors;  // "kept:<number>:<weight>"

 private:
  Training &t_;
};

}  // namespace dl4::train
