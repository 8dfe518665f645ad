// Initializers of weights.
#pragma once

#include "base/tensor.hpp"
#include "kinds/kind.hpp"

namespace dl4::kinds {

// The seed of one initializer, as a Philox key.
struct Seed {
  uint64_t global = 0, op = 0;
};

class Initializer : public Kind {
 public:
  static constexpr const char *category = "initializer";
  // Whether it draws random numbers and therefore takes an op seed.
  virtual bool is_random() const { return false; }
  // Fills a float32 tensor.
  virtual void fill(Tensor &t, const Seed &seed) const = 0;
};

}  // namespace dl4::kinds
