// CategoricalHinge.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct CategoricalHinge : Loss {
  static constexpr const char *name = "CategoricalHinge";
  static constexpr const char *doc =
      "max(1 + the largest y_pred of the wrong classes - that of the right one, 0); y_true is one-hot";
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    Id right = reduce(e, Reduce::sum, mul(e, t, p), {-1});
    Id wrong = reduce(e, Reduce::max, mul(e, unary(e, Unary::scale_shift, t, {-1, 1}), p), {-1});
    Id margin = add(e, sub(e, wrong, right), e.scalar(1));
    return {binary(e, Binary::max, margin, e.scalar(0)), ops::none};
  }
};

}  // namespace

DL4_LOSS(CategoricalHinge, "categorical_hinge")

}  // namespace dl4::kinds
