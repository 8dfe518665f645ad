// CTC.
#include "base/error.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

struct CTC : Loss {
  static constexpr bool has_mean = false;
  static constexpr const char *doc =
      "connectionist temporal classification: minus the logarithm of the probability that the classes of the steps, "
      "predicted before a softmax as (B, T, C), are the labels (B, L) once repetitions and then class 0 are left out. "
      "Labels are integers from 1; 0 fills up their end; one outside the classes stops the run. All T steps count. "
      "Labels that need more steps than there are cost about 707, as in Keras, not infinity";

  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override {
    if (prediction.rank() != 3)
      fail(Code::shape_mismatch, "predictions have shape ", prediction, ", expected (batch, steps, classes)");
    return {prediction[0], free_dim};
  }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    const Shape t = e.shape(y_true), p = e.shape(y_pred);
    if (p.rank() != 3) fail(Code::shape_mismatch, "predictions have shape ", p, ", expected (batch, steps, classes)");
    if (t.rank() != 2 || !compatible(t.first(1), p.first(1)))
      fail(Code::shape_mismatch, "targets have shape ", t, ", expected labels (batch, length) for predictions ", p);
    return {ops::ctc(e, cast(e, y_pred, DType::f32), cast(e, y_true, DType::i32))};
  }
};

}  // namespace

DL4_KINDS(ctc, CTC)

}  // namespace dl4::kinds
