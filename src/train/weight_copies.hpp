// Copies of all weights, which callbacks keep and restore.
#pragma once

#include <map>
#include <string>

#include "train/training.hpp"

namespace dl4::train {

// Each set under a number of its own.
class WeightCopies {
 public:
  using Tensors = std::map<std::string, Tensor>;
  explicit WeightCopies(Training &t) : t_(t) {}

  void keep(size_t number);
  void restore(size_t number);  // nothing, if none are kept
  void forget() { tensors.clear(); }

  // Takes what is a copy out of the tensors of a checkpoint; refuses what is none of a weight of the model.
  Tensors taken_from(Tensors &saved) const;
  Tensors tensors;  // "kept:<number>:<weight>"

 private:
  Training &t_;
};

}  // namespace dl4::train
