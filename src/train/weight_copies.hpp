// Copies of all weights, which callbacks keep and restore.
#pragma once

#include <map>
#include <string>

#include "graph/model.hpp"

namespace dl4::train {

// Each set under a number of its own; checkpoints hold them too.
class WeightCopies {
 public:
  using Tensors = std::map<std::string, Tensor>;
  explicit WeightCopies(graph::Model &model) : model_(model) {}

  void keep(size_t number);
  void restore(size_t number);  // nothing, if none are kept
  void forget() { tensors_.clear(); }

  // In checkpoints.
  static bool is_one(const std::string &name);
  const Tensors &tensors() const { return tensors_; }
  // Refuses what is no copy of a weight of the model.
  void check(const Tensors &saved) const;
  void set(Tensors saved) { tensors_ = std::move(saved); }

 private:
  graph::Model &model_;
  Tensors tensors_;  // "kept:<number>:<weight>"
};

}  // namespace dl4::train
