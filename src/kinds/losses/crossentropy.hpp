// Shared by the crossentropies: fields, label smoothing, logits, clipping of probabilities without logits, and binary
// terms.
#pragma once

#include "kinds/metric.hpp"

namespace dl4::kinds {

// Fields of several of them.
inline void from_logits_field(Fields &f, bool &place) {
  f("from_logits", place)
      .doc(
          "predictions are logits; otherwise probabilities, and the logits are used where the model's last step made "
          "those from logits");
}
inline void smoothing_field(Fields &f, double &place) {
  f("label_smoothing", place).at_least(0).at_most(1).doc("share of each target that is spread evenly over the classes");
}

// Losses whose last fields these are.
struct SmoothedLoss : Loss {
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;

 protected:
  void smoothed_fields(Fields &f, const char *of_axis) {
    from_logits_field(f, from_logits);
    smoothing_field(f, label_smoothing);
    f("axis", axis).doc(of_axis);
    Loss::fields(f);
  }
};

// The logits, if y_pred are logits or were computed from some; else none. Keras on TensorFlow uses the logits behind a
// softmax or a sigmoid for any of these losses, and even if from_logits is set.
inline ops::Id logits_of(ops::Emit &e, ops::Id y_pred, bool from_logits) {
  ops::Id x = logits_behind(e, y_pred);
  return x == ops::none && from_logits ? y_pred : x;
}

// Keras clips in float32, where 1 - 1e-7 is inexact: the bounds are not symmetric.
inline ops::Id clipped(ops::Emit &e, ops::Id p) {
  return unary(e, ops::Unary::clip, p, {1e-7f, static_cast<float>(1.0 - 1e-7)});
}

// Smooths targets over the classes of the predictions' last axis.
ops::Id smoothed(ops::Emit &e, ops::Id t, ops::Id p, double smoothing);
// Smooths targets of two classes.
inline ops::Id smoothed_binary(ops::Emit &e, ops::Id t, double smoothing) {
  auto s = static_cast<float>(smoothing);
  return s == 0 ? t : unary(e, ops::Unary::scale_shift, t, {1 - s, s / 2});
}
inline ops::Id one_minus(ops::Emit &e, ops::Id x) { return unary(e, ops::Unary::scale_shift, x, {-1, 1}); }
// x^y for x >= 0. At 0 the gradient is 0 for y < 1 too: there the slope of x^y is infinite, but x comes from a
// probability whose slope vanishes faster.
ops::Id power(ops::Emit &e, ops::Id x, double y);
// -t log(p) - (1 - t) log(1 - p) elementwise, from the logits of p unless they are none.
ops::Id binary_terms(ops::Emit &e, ops::Id t, ops::Id p, ops::Id logits);

}  // namespace dl4::kinds
