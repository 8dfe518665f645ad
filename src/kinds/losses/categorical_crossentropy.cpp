// CategoricalCrossentropy.
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::Reduce, ops::Unary;

struct CategoricalCrossentropy : Loss {
  static constexpr const char *name = "CategoricalCrossentropy";
  static constexpr const char *doc =
      "-sum(y_true * log(p)) over the axis of classes; y_true is one-hot or a distribution";
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;

  void fields(Fields &f) override {
    from_logits_field(f, from_logits);
    smoothing_field(f, label_smoothing);
    f("axis", axis).doc("axis of the classes");
    Loss::fields(f);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    int at = e.shape(y_pred).axis(axis);
    if (e.rank(y_true) != e.rank(y_pred))
      fail(Code::shape_mismatch, "targets have shape ", e.shape(y_true), ", expected one number a class as in ",
           e.shape(y_pred), "; for class numbers use SparseCategoricalCrossentropy");
    Id x = logits_of(e, y_pred, from_logits);
    auto [t, p] = matched(e, y_true, x == ops::none ? y_pred : x);
    t = smoothed(e, t, p, label_smoothing);
    Id log;
    if (x != ops::none)
      log = ops::log_softmax(e, p, at);
    else
      log = unary(e, Unary::log, clipped(e, div(e, p, reduce(e, Reduce::sum, p, {at}, true))));
    return {unary(e, Unary::neg, reduce(e, Reduce::sum, mul(e, t, log), {at})), ops::none};
  }
};

}  // namespace

DL4_LOSS(CategoricalCrossentropy, "categorical_crossentropy")

}  // namespace dl4::kinds
