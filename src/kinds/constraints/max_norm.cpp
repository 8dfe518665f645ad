// MaxNorm.
#include "kinds/constraint.hpp"
#include "kinds/field.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct MaxNorm : Constraint {
  static constexpr const char *name = "MaxNorm";
  static constexpr const char *doc = "weights along the axis are scaled down to a norm of at most max_value";
  double max_value = 2;
  std::vector<int64_t> axis{0};
  void fields(Fields &f) override {
    f("max_value", max_value).at_least(0).doc("greatest norm");
    f("axis", axis).doc("axis or axes of one norm");
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
