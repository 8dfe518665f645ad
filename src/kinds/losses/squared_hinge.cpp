// SquaredHinge.
#include "kinds/losses/hinge.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct SquaredHinge : Loss {
  static constexpr const char *name = "SquaredHinge";
  static constexpr const char *doc =
      "max(1 - y_true * y_pred, 0)^2, averaged over the last axis; targets 0 and 1 become -1 and 1";
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return {reduce(e, Reduce::mean, unary(e, Unary::square, margin(e, y_true, y_pred)), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(SquaredHinge, "squared_hinge")

}  // namespace dl4::kinds
