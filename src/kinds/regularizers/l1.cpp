// L1.
#include "kinds/field.hpp"
#include "kinds/regularizer.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

struct L1 : Regularizer {
  static constexpr const char *name = "L1";
  static constexpr const char *doc = "l1 * sum(|w|)";
  double l1 = 0.01;
  void fields(Fields &f) override { f("l1", l1).at_least(0).doc("factor"); }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    return scale(e, reduce(e, ops::Reduce::sum_abs, w, {}), static_cast<float>(l1));
  }
};

}  // namespace

DL4_KIND(L1)

}  // namespace dl4::kinds
