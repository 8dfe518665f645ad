// L1L2.
#include "kinds/field.hpp"
#include "kinds/regularizer.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

struct L1L2 : Regularizer {
  static constexpr const char *name = "L1L2";
  static constexpr const char *doc = "l1 * sum(|w|) + l2 * sum(w^2)";
  double l1 = 0, l2 = 0;
  void fields(Fields &f) override {
    f("l1", l1).at_least(0).doc("factor of the absolute values");
    f("l2", l2).at_least(0).doc("factor of the squares");
  }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    ops::Id total = ops::none;
    auto join = [&](ops::Id part, double factor) {
      part = scale(e, part, static_cast<float>(factor));
      total = total == ops::none ? part : add(e, total, part);
    };
    if (l1 != 0) join(reduce(e, ops::Reduce::sum_abs, w, {}), l1);
    if (l2 != 0) join(ops::square_sum(e, w), l2);
    return total == ops::none ? e.scalar(0) : total;
  }
};

}  // namespace

DL4_KIND(L1L2)

}  // namespace dl4::kinds
