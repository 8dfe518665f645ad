// Poisson.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct Poisson : Loss {
  static constexpr const char *name = "Poisson";
  static constexpr const char *doc = "y_pred - y_true * log(y_pred + 1e-7), averaged over the last axis";
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    Id log = unary(e, Unary::log, add(e, p, e.scalar(1e-7f)));
    return {reduce(e, Reduce::mean, sub(e, p, mul(e, t, log)), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(Poisson, "poisson")

}  // namespace dl4::kinds
