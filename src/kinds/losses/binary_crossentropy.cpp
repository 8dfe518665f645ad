// BinaryCrossentropy.
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::Unary;

struct BinaryCrossentropy : Loss {
  static constexpr const char *name = "BinaryCrossentropy";
  static constexpr const char *doc = "-y_true * log(p) - (1 - y_true) * log(1 - p), averaged over the axis";
  static constexpr const char *aliases[] = {"bce"};
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;

  void fields(Fields &f) override {
    from_logits_field(f, from_logits);
    smoothing_field(f, label_smoothing);
    f("axis", axis).doc("axis of the mean");
    Loss::fields(f);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id x = logits_of(e, y_pred, from_logits);
    auto [t, p] = matched(e, y_true, x == ops::none ? y_pred : x);
    auto s = static_cast<float>(label_smoothing);
    if (s != 0) t = unary(e, Unary::scale_shift, t, {1 - s, s / 2});
    Id other = unary(e, Unary::scale_shift, t, {-1, 1}), v;
    if (x != ops::none) {
      // Each side by its own softplus: of a confident right answer the loss is tiny, not rounded away.
      v = add(e, mul(e, t, unary(e, Unary::softplus, unary(e, Unary::neg, p))),
              mul(e, other, unary(e, Unary::softplus, p)));
    } else {
      p = clipped(e, p);
      Id rest = unary(e, Unary::scale_shift, p, {-1, 1});
      v = add(e, mul(e, t, unary(e, Unary::log, p)), mul(e, other, unary(e, Unary::log, rest)));
      v = unary(e, Unary::neg, v);
    }
    return {reduce(e, ops::Reduce::mean, v, {e.shape(v).axis(axis)}), ops::none};
  }
};

}  // namespace

DL4_LOSS(BinaryCrossentropy, "binary_crossentropy")

}  // namespace dl4::kinds
