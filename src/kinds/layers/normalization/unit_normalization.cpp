// UnitNormalization: scales vectors along one or several axes to norm 1.
#include "kinds/layer.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct UnitNormalization : LayerOf<UnitNormalization> {
  static constexpr const char *name = "UnitNormalization";
  static constexpr const char *doc =
      "x over its norm along an axis, or along several axes together: x / max(norm, 1e-12).";
  std::vector<int64_t> axis{-1};

  void fields(Fields &f) override { f("axis", axis).doc("the axis, or a list of axes"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  void check() override {
    if (axis.empty())
      throw Error(Code::invalid_argument, "\"axis\": expected at least one axis").with("attribute", "axis");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{normalised(c.e, c.x(), axis, 1e-12), c.mask()}};
  }
};

}  // namespace
DL4_KIND(UnitNormalization)
}  // namespace dl4::kinds
