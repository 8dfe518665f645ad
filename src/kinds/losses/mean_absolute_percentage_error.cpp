// MeanAbsolutePercentageError.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct MeanAbsolutePercentageError : Loss {
  static constexpr const char *name = "MeanAbsolutePercentageError";
  static constexpr const char *doc = "100 * |y_true - y_pred| / max(|y_true|, 1e-7), averaged over the last axis";
  static constexpr const char *aliases[] = {"mape"};
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    Id base = binary(e, Binary::max, unary(e, Unary::abs, t), e.scalar(1e-7f));
    Id part = unary(e, Unary::abs, div(e, sub(e, t, p), base));
    return {scale(e, reduce(e, Reduce::mean, part, {-1}), 100), ops::none};
  }
};

}  // namespace

DL4_LOSS(MeanAbsolutePercentageError, "mean_absolute_percentage_error")

}  // namespace dl4::kinds
