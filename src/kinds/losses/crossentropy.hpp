// What the crossentropies share: fields, smoothed targets, the logits behind probabilities, the clipping of those
// without any, and the terms of the binary ones.
#pragma once

#include "kinds/metric.hpp"

namespace dl4::kinds {

// Fields that several of them have.
inline void from_logits_field(Fields &f, bool &place) {
  f("from_logits", place)
      .doc(
          "predictions are logits; otherwise probabilities, and the logits are used where the model's last step made "
          "those from logits");
}
inline void smoothing_field(Fields &f, double &place) {
  f("label_smoothing", place).at_least(0).at_most(1).doc("share of each target that is spread evenly over the classes");
}

// Logits, when y_pred are some or were made from some; else none. Keras on TensorFlow takes those behind a softmax or a
// sigmoid whatever the loss, and even where from_logits says that y_pred are some.
inline ops::Id logits_of(ops::Emit &e, ops::Id y_pred, bool from_logits) {
  ops::Id x = logits_behind(e, y_pred);
  return x == ops::none && from_logits ? y_pred : x;
}

// Keras clips in float32, where 1 - 1e-7 is not exact: the two ends are not symmetric.
inline ops::Id clipped(ops::Emit &e, ops::Id p) {
  return unary(e, ops::Unary::clip, p, {1e-7f, static_cast<float>(1.0 - 1e-7)});
}

// Targets spread over the classes of the predictions' last axis.
ops::Id smoothed(ops::Emit &e, ops::Id t, ops::Id p, double smoothing);
// Targets of two classes.
inline ops::Id smoothed_binary(ops::Emit &e, ops::Id t, double smoothing) {
  auto s = static_cast<float>(smoothing);
  return s == 0 ? t : unary(e, ops::Unary::scale_shift, t, {1 - s, s / 2});
}
inline ops::Id one_minus(ops::Emit &e, ops::Id x) { return unary(e, ops::Unary::scale_shift, x, {-1, 1}); }
// x^y of x from 0 on. At 0 its gradient is 0 for y < 1 too: the slope of x^y alone is infinite there, but x comes from
// a probability whose own slope vanishes faster.
ops::Id power(ops::Emit &e, ops::Id x, double y);
// -t log(p) - (1 - t) log(1 - p) of each element, by the logits of p unless they are none.
ops::Id binary_terms(ops::Emit &e, ops::Id t, ops::Id p, ops::Id logits);

}  // namespace dl4::kinds
