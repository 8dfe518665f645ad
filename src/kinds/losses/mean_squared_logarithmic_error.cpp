// MeanSquaredLogarithmicError.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct MeanSquaredLogarithmicError : Loss {
  static constexpr const char *name = "MeanSquaredLogarithmicError";
  static constexpr const char *doc =
      "(log(y_true + 1) - log(y_pred + 1))^2, both at least 1e-7, averaged over the last axis";
  static constexpr const char *aliases[] = {"msle"};
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    auto log = [&](Id x) { return unary(e, Unary::log1p, binary(e, Binary::max, x, e.scalar(1e-7f))); };
    Id p_log = log(p);
    return {reduce(e, Reduce::mean, binary(e, Binary::squared_difference, p_log, log(t)), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(MeanSquaredLogarithmicError, "mean_squared_logarithmic_error")

}  // namespace dl4::kinds
