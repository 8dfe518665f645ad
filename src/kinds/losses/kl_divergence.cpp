// KLDivergence.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct KLDivergence : Loss {
  static constexpr const char *name = "KLDivergence";
  static constexpr const char *doc =
      "sum over the last axis of y_true * log(y_true / y_pred), both clipped to [1e-7, 1]";
  static constexpr const char *aliases[] = {"kld", "kullback_leibler_divergence"};
  static auto fields() { return loss_fields(); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    t = unary(e, Unary::clip, t, {1e-7f, 1});
    p = unary(e, Unary::clip, p, {1e-7f, 1});
    return {reduce(e, Reduce::sum, mul(e, t, unary(e, Unary::log, div(e, t, p))), {-1}), ops::none};
  }
};

}  // namespace

DL4_LOSS(KLDivergence, "kl_divergence")

}  // namespace dl4::kinds
