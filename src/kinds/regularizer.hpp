// Regularizers: penalties on weights and outputs.
#pragma once

#include "kinds/kind.hpp"
#include "ops/emit.hpp"

namespace dl4::kinds {

class Regularizer : public Kind {
 public:
  static constexpr const char *category = "regularizer";
  virtual ops::Id penalty(ops::Emit &e, ops::Id w) const = 0;  // scalar
};

}  // namespace dl4::kinds
