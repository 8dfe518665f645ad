// BinaryCrossentropy.
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

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
    Id v = binary_terms(e, smoothed_binary(e, t, label_smoothing), p, x == ops::none ? x : p);
    return {reduce(e, ops::Reduce::mean, v, {e.shape(v).axis(axis)}), ops::none};
  }
};

}  // namespace

DL4_LOSS(BinaryCrossentropy, "binary_crossentropy")

}  // namespace dl4::kinds
