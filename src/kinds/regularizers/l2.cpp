// L2.
#include "kinds/field.hpp"
#include "kinds/regularizer.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

struct L2 : Regularizer {
  static constexpr const char *name = "L2";
  static constexpr const char *doc = "l2 * sum(w^2)";
  double l2 = 0.01;
  void fields(Fields &f) override { f("l2", l2).at_least(0).doc("factor"); }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    return scale(e, ops::square_sum(e, w), static_cast<float>(l2));
  }
};

}  // namespace

DL4_KIND(L2)

}  // namespace dl4::kinds
