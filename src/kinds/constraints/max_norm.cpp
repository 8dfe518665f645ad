// MaxNorm.
#include "kinds/initializer.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct MaxNorm : Constraint {
  static constexpr const char *name = "MaxNorm";
  static constexpr const char *doc = "weights along the axis are scaled down to a norm of at most max_value";
  double max_value = 0;
  std::vector<int64_t> axis;
  static auto fields() {
    return std::tuple{field("max_value", &MaxNorm::max_value).otherwise(2).at_least(0).doc("greatest norm"),
                      field("axis", &MaxNorm::axis).otherwise(0).doc("axis or axes of one norm")};
  }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    ops::Id norm = norms(e, w, axis);
    ops::Id wanted = binary(e, ops::Binary::min, norm, e.scalar(static_cast<float>(max_value)));
    return mul(e, w, div(e, wanted, add(e, norm, e.scalar(1e-7f))));
  }
};

}  // namespace

DL4_KIND(MaxNorm)

}  // namespace dl4::kinds
