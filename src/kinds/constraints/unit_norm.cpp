// UnitNorm.
#include "kinds/initializer.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct UnitNorm : Constraint {
  static constexpr const char *name = "UnitNorm";
  static constexpr const char *doc = "weights along the axis are scaled to a norm of 1";
  std::vector<int64_t> axis;
  static auto fields() {
    return std::tuple{field("axis", &UnitNorm::axis).otherwise(0).doc("axis or axes of one norm")};
  }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    return div(e, w, add(e, norms(e, w, axis), e.scalar(1e-7f)));
  }
};

}  // namespace

DL4_KIND(UnitNorm)

}  // namespace dl4::kinds
