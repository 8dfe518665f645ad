// Losses without attributes of their own: a row each.
#include "kinds/metric.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

// t, p: targets and predictions of equal shape, float32.
Id last_mean(Emit &e, Id v) { return reduce(e, Reduce::mean, v, {-1}); }

Id squared_error(Emit &e, Id t, Id p) { return last_mean(e, binary(e, Binary::squared_difference, t, p)); }
Id absolute_error(Emit &e, Id t, Id p) { return last_mean(e, unary(e, Unary::abs, sub(e, t, p))); }

Id percentage_error(Emit &e, Id t, Id p) {
  Id base = binary(e, Binary::max, unary(e, Unary::abs, t), e.scalar(1e-7f));
  Id part = unary(e, Unary::abs, div(e, sub(e, t, p), base));
  return scale(e, last_mean(e, part), 100);
}

Id logarithmic_error(Emit &e, Id t, Id p) {
  auto log = [&](Id x) { return unary(e, Unary::log1p, binary(e, Binary::max, x, e.scalar(1e-7f))); };
  Id p_log = log(p);
  return last_mean(e, binary(e, Binary::squared_difference, p_log, log(t)));
}

Id log_cosh(Emit &e, Id t, Id p) {
  Id error = sub(e, p, t);
  Id v = add(e, error, unary(e, Unary::softplus, scale(e, error, -2)));
  return last_mean(e, sub(e, v, e.scalar(0.69314718f)));
}

Id kl_divergence(Emit &e, Id t, Id p) {
  t = unary(e, Unary::clip, t, {1e-7f, 1});
  p = unary(e, Unary::clip, p, {1e-7f, 1});
  return reduce(e, Reduce::sum, mul(e, t, unary(e, Unary::log, div(e, t, p))), {-1});
}

Id poisson(Emit &e, Id t, Id p) {
  Id log = unary(e, Unary::log, add(e, p, e.scalar(1e-7f)));
  return last_mean(e, sub(e, p, mul(e, t, log)));
}

// max(1 - t * p, 0); targets that are all 0 or 1 are mapped to -1 and 1 first.
Id margin(Emit &e, Id t, Id p) {
  Id zero = e.scalar(0), one = e.scalar(1);
  Id known = binary(e, Binary::logical_or, binary(e, Binary::equal, t, zero), binary(e, Binary::equal, t, one));
  Id all = reduce(e, Reduce::min, known, {});
  t = select(e, all, unary(e, Unary::scale_shift, t, {2, -1}), t);
  return binary(e, Binary::max, sub(e, one, mul(e, t, p)), zero);
}
Id hinge(Emit &e, Id t, Id p) { return last_mean(e, margin(e, t, p)); }
Id squared_hinge(Emit &e, Id t, Id p) { return last_mean(e, unary(e, Unary::square, margin(e, t, p))); }

Id categorical_hinge(Emit &e, Id t, Id p) {
  Id right = reduce(e, Reduce::sum, mul(e, t, p), {-1});
  Id wrong = reduce(e, Reduce::max, mul(e, unary(e, Unary::scale_shift, t, {-1, 1}), p), {-1});
  Id margin = add(e, sub(e, wrong, right), e.scalar(1));
  return binary(e, Binary::max, margin, e.scalar(0));
}

struct PlainLoss final : Loss {
  struct Row : Entry {
    Id (*values)(Emit &, Id t, Id p);
  };

  explicit PlainLoss(const Row &row) : row(row) {}
  const Row &row;

  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {row.values(e, t, p), ops::none};
  }
};

constexpr PlainLoss::Row loss(const char *name, std::array<Words, 2> aliases, const char *doc,
                              Id (*values)(Emit &, Id t, Id p)) {
  return {{"loss", name, doc, fresh<PlainLoss>, aliases}, values};
}
constexpr PlainLoss::Row losses[] = {
    loss("MeanSquaredError", {"mse"}, "(y_true - y_pred)^2, averaged over the last axis", squared_error),
    loss("MeanAbsoluteError", {"mae"}, "|y_true - y_pred|, averaged over the last axis", absolute_error),
    loss("MeanAbsolutePercentageError", {"mape"},
         "100 * |y_true - y_pred| / max(|y_true|, 1e-7), averaged over the last axis", percentage_error),
    loss("MeanSquaredLogarithmicError", {"msle"},
         "(log(y_true + 1) - log(y_pred + 1))^2, both at least 1e-7, averaged over the last axis", logarithmic_error),
    loss("LogCosh", {}, "log(cosh(y_pred - y_true)), averaged over the last axis", log_cosh),
    loss("KLDivergence", {"kld", "kullback_leibler_divergence"},
         "sum over the last axis of y_true * log(y_true / y_pred), both clipped to [1e-7, 1]", kl_divergence),
    loss("Poisson", {}, "y_pred - y_true * log(y_pred + 1e-7), averaged over the last axis", poisson),
    loss("Hinge", {}, "max(1 - y_true * y_pred, 0), averaged over the last axis; targets 0 and 1 become -1 and 1",
         hinge),
    loss("SquaredHinge", {},
         "max(1 - y_true * y_pred, 0)^2, averaged over the last axis; targets 0 and 1 become -1 and 1", squared_hinge),
    loss("CategoricalHinge", {},
         "max(1 + the largest y_pred of the wrong classes - that of the right one, 0); y_true is one-hot",
         categorical_hinge),
};

}  // namespace

void list_plain(Entries &all) {
  for (const PlainLoss::Row &row : losses) {
    list(all, row);
    if (row.values == log_cosh)
      list(all, kept(std::make_unique<MeanOfLoss>(row, "logcosh", "LogCoshError")));
    else
      list_mean(all, row);
  }
}

}  // namespace dl4::kinds
