// What the crossentropies share: the logits behind probabilities, and the clipping of probabilities without any.
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

}  // namespace dl4::kinds
