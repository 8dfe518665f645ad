// MeanSquaredError.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct MeanSquaredError : Loss {
  static constexpr const char *name = "MeanSquaredError";
  static constexpr const char *doc = "(y_true - y_pred)^2, averaged over the last axis";
  static constexpr const char *aliases[] = {"mse"};
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {reduce(e, Reduce::mean, binary(e, Binary::squared_difference, t, p), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(MeanSquaredError, "mean_squared_error")

}  // namespace dl4::kinds
