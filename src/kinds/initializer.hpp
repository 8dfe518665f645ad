// Initializers, regularizers and constraints: what a layer says of its weights.
#pragma once

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

// How random initializers take their bits.
enum class SeedScheme { dl4, tensorflow };

// The seed of one initializer: under `tensorflow`, global and op seed as semantics say; under `dl4`, a Philox key.
struct Seed {
  SeedScheme scheme = SeedScheme::dl4;
  uint64_t global = 0, op = 0;
};

class Initializer : public Kind {
 public:
  static constexpr const char *category = "initializer";
  // Does it draw random numbers, and so take an op seed?
  virtual bool is_random() const { return false; }
  // Fills a float32 tensor.
  virtual void fill(Tensor &t, const Seed &seed) const = 0;
};

class Regularizer : public Kind {
 public:
  static constexpr const char *category = "regularizer";
  virtual ops::Id penalty(ops::Emit &e, ops::Id w) const = 0;  // scalar
};

class Constraint : public Kind {
 public:
  static constexpr const char *category = "constraint";
  virtual ops::Id apply(ops::Emit &e, ops::Id w) const = 0;  // the weight as it is to be after an update
};

}  // namespace dl4::kinds
