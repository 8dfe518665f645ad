// MeanAbsoluteError.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct MeanAbsoluteError : Loss {
  static constexpr const char *name = "MeanAbsoluteError";
  static constexpr const char *doc = "|y_true - y_pred|, averaged over the last axis";
  static constexpr const char *aliases[] = {"mae"};
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {reduce(e, Reduce::mean, unary(e, Unary::abs, sub(e, t, p)), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(MeanAbsoluteError, "mean_absolute_error")

}  // namespace dl4::kinds
