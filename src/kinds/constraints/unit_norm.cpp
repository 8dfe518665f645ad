// UnitNorm.
#include "kinds/constraint.hpp"
#include "kinds/field.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct UnitNorm : Constraint {
  static constexpr const char *name = "UnitNorm";
  static constexpr const char *doc = "weights along the axis are scaled to a norm of 1";
  std::vector<int64_t> axis{0};
  void fields(Fields &f) override { f("axis", axis).doc("axis or axes of one norm"); }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    return div(e, w, add(e, norms(e, w, axis), e.scalar(1e-7f)));
  }
};

}  // namespace

DL4_KIND(UnitNorm)

}  // namespace dl4::kinds
