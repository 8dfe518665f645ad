// LogCosh.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct LogCosh : Loss {
  static constexpr const char *name = "LogCosh";
  static constexpr const char *doc = "log(cosh(y_pred - y_true)), averaged over the last axis";
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    Id error = sub(e, p, t);
    Id log_cosh = add(e, error, unary(e, Unary::softplus, scale(e, error, -2)));
    return {reduce(e, Reduce::mean, sub(e, log_cosh, e.scalar(0.69314718f)), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(LogCosh, "logcosh")

}  // namespace dl4::kinds
