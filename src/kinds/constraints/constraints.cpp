// Constraints of weights.
#include "kinds/field.hpp"
#include "kinds/norm.hpp"
#include "kinds/weight.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

struct MaxNorm : Constraint {
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

struct MinMaxNorm : Constraint {
  static constexpr const char *doc = "weights along the axis are scaled towards a norm within [min_value, max_value]";
  double min_value = 0, max_value = 1, rate = 1;
  std::vector<int64_t> axis{0};
  void fields(Fields &f) override {
    f("min_value", min_value).at_least(0).doc("least norm");
    f("max_value", max_value).at_least(0).doc("greatest norm");
    f("rate", rate).at_least(0).at_most(1).doc("how far to go in one update: 1 is all the way");
    f("axis", axis).doc("axis or axes of one norm");
  }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    ops::Id norm = norms(e, w, axis);
    auto number = [&](double v) { return e.scalar(static_cast<float>(v)); };
    ops::Id within =
        binary(e, ops::Binary::min, binary(e, ops::Binary::max, norm, number(min_value)), number(max_value));
    ops::Id wanted = add(e, mul(e, within, number(rate)), mul(e, norm, number(1 - rate)));
    return mul(e, w, div(e, wanted, add(e, norm, e.scalar(1e-7f))));
  }
};

struct NonNeg : Constraint {
  static constexpr const char *doc = "negative weights become 0";
  ops::Id apply(ops::Emit &e, ops::Id w) const override { return binary(e, ops::Binary::max, w, e.scalar(0)); }
};

struct UnitNorm : Constraint {
  static constexpr const char *doc = "weights along the axis are scaled to a norm of 1";
  std::vector<int64_t> axis{0};
  void fields(Fields &f) override { f("axis", axis).doc("axis or axes of one norm"); }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    return div(e, w, add(e, norms(e, w, axis), e.scalar(1e-7f)));
  }
};

}  // namespace
DL4_KINDS(constraints, MaxNorm, MinMaxNorm, NonNeg, UnitNorm)
}  // namespace dl4::kinds
