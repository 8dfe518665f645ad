// Constraints: projections applied to weights after every update.
#pragma once

#include "kinds/kind.hpp"
#include "ops/emit.hpp"

namespace dl4::kinds {

class Constraint : public Kind {
 public:
  static constexpr const char *category = "constraint";
  virtual ops::Id apply(ops::Emit &e, ops::Id w) const = 0;
};

}  // namespace dl4::kinds
