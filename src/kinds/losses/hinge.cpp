// Hinge.
#include "kinds/losses/hinge.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct Hinge : Loss {
  static constexpr const char *name = "Hinge";
  static constexpr const char *doc =
      "max(1 - y_true * y_pred, 0), averaged over the last axis; targets 0 and 1 become -1 and 1";
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return {reduce(e, Reduce::mean, margin(e, y_true, y_pred), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(Hinge, "hinge")

}  // namespace dl4::kinds
