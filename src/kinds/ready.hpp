// Layers whose weights must have been given before anything runs.
#pragma once

#include <functional>
#include <string>

#include "base/tensor.hpp"

namespace dl4::kinds {

class NeedsWeights {
 public:
  virtual ~NeedsWeights() = default;
  // Refuses weights with which it can't run; value(name) gives one.
  virtual void need_weights(const std::function<const Tensor &(const std::string &)> &value) const = 0;
};

}  // namespace dl4::kinds
