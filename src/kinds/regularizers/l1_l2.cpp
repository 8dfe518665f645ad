// L1L2.
#include "kinds/initializer.hpp"

namespace dl4::kinds {
namespace {

struct L1L2 : Regularizer {
  static constexpr const char *name = "L1L2";
  static constexpr const char *doc = "l1 * sum(|w|) + l2 * sum(w^2)";
  double l1 = 0, l2 = 0;
  static auto fields() {
    return std::tuple{field("l1", &L1L2::l1).otherwise(0.0).at_least(0).doc("factor of the absolute values"),
                      field("l2", &L1L2::l2).otherwise(0.0).at_least(0).doc("factor of the squares")};
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
