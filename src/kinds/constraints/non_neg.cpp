// NonNeg.
#include "kinds/constraint.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

struct NonNeg : Constraint {
  static constexpr const char *name = "NonNeg";
  static constexpr const char *doc = "negative weights become 0";
  ops::Id apply(ops::Emit &e, ops::Id w) const override { return binary(e, ops::Binary::max, w, e.scalar(0)); }
};

}  // namespace

DL4_KIND(NonNeg)

}  // namespace dl4::kinds
