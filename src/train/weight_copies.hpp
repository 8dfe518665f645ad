// Copies of all weights, kept and restored by callbacks.
#pragma once

#include <map>
#include <string>

#include "train/training.hpp"

namespace dl4::train {

// Each set has a number.
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
