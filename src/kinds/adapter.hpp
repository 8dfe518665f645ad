// What a layer learns from data before training.
#pragma once

#include "base/json.hpp"
#include "base/tensor.hpp"

namespace dl4::kinds {

class Adapter {
 public:
  virtual ~Adapter() = default;
  // A batch, dense; valid during the call.
  virtual void add(const Tensor &batch) = 0;
  // The layer's config with what was learned so far. Refuses what no layer can be made of.
  virtual Json config() const = 0;
};

}  // namespace dl4::kinds
