// Crossentropies of classes.
#include "base/error.hpp"
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::Reduce, ops::Unary, ops::none;

struct BinaryCrossentropy : SmoothedLoss {
  static constexpr const char *doc = "-y_true * log(p) - (1 - y_true) * log(1 - p), averaged over the axis";
  static constexpr const char *aliases[] = {"bce"};

  void fields(Fields &f) override { smoothed_fields(f, "axis of the mean"); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id x = logits_of(e, y_pred, from_logits);
    auto [t, p] = matched(e, y_true, x == ops::none ? y_pred : x);
    Id v = binary_terms(e, smoothed_binary(e, t, label_smoothing), p, x == ops::none ? x : p);
    return {reduce(e, ops::Reduce::mean, v, {e.shape(v).axis(axis)}), ops::none};
  }
};

struct CategoricalCrossentropy : SmoothedLoss {
  static constexpr const char *doc =
      "-sum(y_true * log(p)) over the axis of classes; y_true is one-hot or a distribution";

  void fields(Fields &f) override { smoothed_fields(f, "axis of the classes"); }
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

// Labels other than the ignored class.
Id counted(Emit &e, Id labels, int64_t ignored) {
  DType t = e.dtype(labels);
  if (t == DType::u8 || t == DType::boolean) labels = cast(e, labels, t = DType::i32);
  Tensor number = make_tensor(t, {});
  if (t == DType::f32)
    *number.as<float>() = static_cast<float>(ignored);
  else if (t == DType::i64)
    *number.as<int64_t>() = ignored;
  else
    *number.as<int32_t>() = static_cast<int32_t>(ignored);
  return binary(e, ops::Binary::not_equal, labels, e.constant(std::move(number)));
}

struct SparseCategoricalCrossentropy : Loss {
  static constexpr const char *doc = "-log(p[y_true]) for class numbers y_true; one outside the classes stops the run";
  bool from_logits = false;
  std::optional<int64_t> ignore_class;
  int64_t axis = -1;

  void fields(Fields &f) override {
    from_logits_field(f, from_logits);
    f("ignore_class", ignore_class)
        .at_least(INT32_MIN)
        .at_most(INT32_MAX)
        .doc("a label whose items count neither in the sum nor in the divisor");
    f("axis", axis).doc("axis of the classes: the last one");
    Loss::fields(f);
  }
  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override {
    return prediction.first(prediction.rank() - 1);
  }

  Items items(Emit &e, Id y_true, Id y_pred) const override {
    const Shape p = e.shape(y_pred);
    if (p.rank() > 0 && p.axis(axis) != p.rank() - 1)
      unsupported_attribute("axis", "the classes must be the last axis, got ", axis);
    y_pred = cast(e, y_pred, DType::f32);
    Id labels = class_numbers(e, y_true, y_pred);
    Id x = logits_of(e, y_pred, from_logits);
    // Keras uses the logarithm of clipped probabilities as logits, so they need not sum to 1.
    if (x == none) x = unary(e, Unary::log, clipped(e, y_pred));
    Id rows = reshape(e, x, 0, {free_dim, p.last()}), flat = reshape(e, labels, 0, {free_dim});
    Id valid = ignore_class ? counted(e, flat, *ignore_class) : none;
    Id v = unary(e, Unary::neg, pick(e, ops::log_softmax(e, rows, 1), flat, valid));
    if (valid != none) valid = reshape_like(e, valid, labels);
    return {reshape_like(e, v, labels), valid};
  }
};

struct GeneralizedCrossentropy : Loss {
  static constexpr const char *name = "CategoricalGeneralizedCrossEntropy";
  static constexpr const char *doc =
      "(1 - p[y_true]^q) / q for class numbers y_true: for labels some of which are wrong; a number outside the "
      "classes stops the run";
  double q = 0.5;

  void fields(Fields &f) override {
    f("q", q).at_least(0).at_most(1).doc(
        "between 0 and 1: near 0 it is the crossentropy, near 1 the mean absolute error");
    Loss::fields(f);
  }
  void check() override {
    if (q > 0 && q < 1) return;
    refuse_attribute("q", "expected a number between 0 and 1, got ", q);
  }
  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override {
    return prediction.first(prediction.rank() - 1);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id labels = class_numbers(e, y_true, y_pred);
    Id rows = reshape(e, cast(e, y_pred, DType::f32), 0, {free_dim, e.shape(y_pred).last()});
    Id p = pick(e, rows, reshape(e, labels, 0, {free_dim}));
    const auto by = static_cast<float>(1 / q);
    Id v = unary(e, Unary::scale_shift, power(e, p, q), {-by, by});
    return {reshape_like(e, v, labels), ops::none};
  }
};

}  // namespace
DL4_KINDS(crossentropies, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy,
          GeneralizedCrossentropy)
}  // namespace dl4::kinds
