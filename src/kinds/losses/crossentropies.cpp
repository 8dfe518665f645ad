// Crossentropies of classes, the focal losses, which weigh well-predicted samples less, and Keras's "crossentropy" and
// "ce".
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary, ops::none;

// Fields of several of them.
void from_logits_field(Fields &f, bool &place) {
  f("from_logits", place,
    "predictions are logits; otherwise probabilities, and the logits are used where the model's last step made "
    "those from logits");
}
void smoothing_field(Fields &f, double &place) {
  f("label_smoothing", place, "share of each target that is spread evenly over the classes").within(0, 1);
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
    f("axis", axis, of_axis);
    Loss::fields(f);
  }
};

// The logits, if y_pred are logits or were computed from some; else none. Keras on TensorFlow uses the logits behind a
// softmax or a sigmoid for any of these losses, and even if from_logits is set.
Id logits_of(Emit &e, Id y_pred, bool from_logits) {
  Id x = logits_behind(e, y_pred);
  return x == none && from_logits ? y_pred : x;
}

// Keras clips in float32, where 1 - 1e-7 is inexact: the bounds are not symmetric.
Id clipped(Emit &e, Id p) { return unary(e, Unary::clip, p, {1e-7f, static_cast<float>(1.0 - 1e-7)}); }

// Smooths targets of two classes.
Id smoothed_binary(Emit &e, Id t, double smoothing) {
  auto s = static_cast<float>(smoothing);
  return s == 0 ? t : unary(e, Unary::scale_shift, t, {1 - s, s / 2});
}
Id one_minus(Emit &e, Id x) { return unary(e, Unary::scale_shift, x, {-1, 1}); }

// Smooths targets over the classes of the predictions' last axis.
Id smoothed(Emit &e, Id t, Id p, double smoothing) {
  if (smoothing == 0) return t;
  const int64_t classes = e.shape(p).last();
  if (classes == free_dim) fail(Code::invalid_argument, "\"label_smoothing\" needs a known number of classes");
  auto s = static_cast<float>(smoothing);
  return unary(e, Unary::scale_shift, t, {1 - s, s / static_cast<float>(classes)});
}

// x^y for x >= 0. At 0 the gradient is 0 for y < 1 too: there the slope of x^y is infinite, but x comes from a
// probability whose slope vanishes faster.
Id power(Emit &e, Id x, double y) {
  if (y == 2) return unary(e, Unary::square, x);
  if (y >= 1) return binary(e, Binary::pow, x, e.scalar(y));
  // Both branches of a select get gradients, so the power must not see 0.
  const Id is_zero = binary(e, Binary::equal, x, e.scalar(0));
  const Id of_others = binary(e, Binary::pow, select(e, is_zero, e.scalar(1), x), e.scalar(y));
  return select(e, is_zero, e.scalar(y == 0 ? 1 : 0), of_others);
}

// -t log(p) - (1 - t) log(1 - p) elementwise, from the logits of p unless they are none.
Id binary_terms(Emit &e, Id t, Id p, Id logits) {
  // A softplus for each side: for a confident correct prediction the loss is tiny, not rounded to 0.
  if (logits != none)
    return add(e, mul(e, t, unary(e, Unary::softplus, unary(e, Unary::neg, logits))),
               mul(e, one_minus(e, t), unary(e, Unary::softplus, logits)));
  p = clipped(e, p);
  Id v = add(e, mul(e, t, unary(e, Unary::log, p)), mul(e, one_minus(e, t), unary(e, Unary::log, one_minus(e, p))));
  return unary(e, Unary::neg, v);
}

struct BinaryCrossentropy : SmoothedLoss {
  static constexpr const char *doc = "-y_true * log(p) - (1 - y_true) * log(1 - p), averaged over the axis";
  static constexpr const char *aliases[] = {"bce"};

  void fields(Fields &f) override { smoothed_fields(f, "axis of the mean"); }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id x = logits_of(e, y_pred, from_logits);
    auto [t, p] = matched(e, y_true, x == none ? y_pred : x);
    Id v = binary_terms(e, smoothed_binary(e, t, label_smoothing), p, x == none ? x : p);
    return {reduce(e, Reduce::mean, v, {e.shape(v).axis(axis)}), none};
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
    auto [t, p] = matched(e, y_true, x == none ? y_pred : x);
    t = smoothed(e, t, p, label_smoothing);
    Id log;
    if (x != none)
      log = ops::log_softmax(e, p, at);
    else
      log = unary(e, Unary::log, clipped(e, div(e, p, reduce(e, Reduce::sum, p, {at}, true))));
    return {unary(e, Unary::neg, reduce(e, Reduce::sum, mul(e, t, log), {at})), none};
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
  return binary(e, Binary::not_equal, labels, e.constant(std::move(number)));
}

struct SparseCategoricalCrossentropy : Loss {
  static constexpr const char *doc = "-log(p[y_true]) for class numbers y_true; one outside the classes stops the run";
  bool from_logits = false;
  std::optional<int64_t> ignore_class;
  int64_t axis = -1;

  void fields(Fields &f) override {
    from_logits_field(f, from_logits);
    f("ignore_class", ignore_class, "a label whose items count neither in the sum nor in the divisor")
        .within(INT32_MIN, INT32_MAX);
    f("axis", axis, "axis of the classes: the last one");
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
    f("q", q, "between 0 and 1: near 0 it is the crossentropy, near 1 the mean absolute error").within(0, 1);
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
    return {reshape_like(e, v, labels), none};
  }
};

void gamma_field(Fields &f, double &place) { f("gamma", place, "how much less; 0: not at all").at_least(0); }

Id focus(Emit &e, Id p, double gamma) { return power(e, one_minus(e, p), gamma); }

struct BinaryFocalCrossentropy : SmoothedLoss {
  static constexpr const char *doc =
      "BinaryCrossentropy's terms times (1 - p_t)^gamma, p_t the probability of the right answer, averaged over the "
      "axis";
  bool apply_class_balancing = false;
  double alpha = 0.25, gamma = 2;

  void fields(Fields &f) override {
    f("apply_class_balancing", apply_class_balancing, "weigh the classes by alpha");
    f("alpha", alpha, "weight of class 1 where they are weighed; 1 - alpha is that of class 0");
    gamma_field(f, gamma);
    smoothed_fields(f, "axis of the mean");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id x = from_logits ? cast(e, y_pred, DType::f32) : logits_behind(e, y_pred);
    auto [t, p] = matched(e, y_true, from_logits ? unary(e, Unary::sigmoid, x) : y_pred);
    if (x != none) x = reshape_like(e, x, p);
    t = smoothed_binary(e, t, label_smoothing);
    Id other = one_minus(e, t), right = add(e, mul(e, t, p), mul(e, other, one_minus(e, p)));
    Id v = mul(e, focus(e, right, gamma), binary_terms(e, t, p, x));
    if (apply_class_balancing) {
      auto a = static_cast<float>(alpha);
      v = mul(e, v, unary(e, Unary::scale_shift, t, {2 * a - 1, 1 - a}));
    }
    return {reduce(e, Reduce::mean, v, {e.shape(v).axis(axis)}), none};
  }
};

struct CategoricalFocalCrossentropy : Loss {
  static constexpr const char *doc =
      "-alpha * sum((1 - p)^gamma * y_true * log(p)) over the axis of classes; y_true is one-hot or a distribution";
  std::vector<double> alpha{0.25};
  double gamma = 2, label_smoothing = 0;
  bool from_logits = false;
  int64_t axis = -1;

  void fields(Fields &f) override {
    f("alpha", alpha, "weight of all classes, or one for each");
    gamma_field(f, gamma);
    f("from_logits", from_logits, "predictions are logits");
    smoothing_field(f, label_smoothing);
    f("axis", axis, "axis of the classes");
    Loss::fields(f);
  }
  void check() override {
    if (!alpha.empty()) return;
    refuse_attribute("alpha", "expected at least one number, got []");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    const int at = e.shape(p).axis(axis);
    t = smoothed(e, t, p, label_smoothing);
    if (from_logits) p = ops::softmax(e, p, at);
    p = clipped(e, div(e, p, reduce(e, Reduce::sum, p, {at}, true)));
    Id v = mul(e, mul(e, focus(e, p, gamma), weights(e, p)), mul(e, t, unary(e, Unary::log, p)));
    return {unary(e, Unary::neg, reduce(e, Reduce::sum, v, {at})), none};
  }

 private:
  // Broadcast like in Keras: per class along the last axis.
  Id weights(Emit &e, Id p) const {
    if (alpha.size() == 1) return e.scalar(alpha[0]);
    const auto n = static_cast<int64_t>(alpha.size()), classes = e.shape(p).last();
    if (classes != free_dim && classes != n)
      fail(Code::shape_mismatch, "\"alpha\": expected one number or one for each of ", classes, " classes, got ", n);
    Tensor t = make_tensor(DType::f32, {n});
    for (size_t i = 0; i < alpha.size(); ++i) t.as<float>()[i] = static_cast<float>(alpha[i]);
    return e.constant(std::move(t));
  }
};

struct Crossentropy : Loss {
  static constexpr bool has_mean = false;
  static constexpr const char *doc =
      "by the shapes: BinaryCrossentropy for one output a sample, SparseCategoricalCrossentropy for class numbers, "
      "else CategoricalCrossentropy";
  static constexpr const char *aliases[] = {"ce"};

  void fields(Fields &f) override { Loss::fields(f); }
  Shape target_shape(const Shape &prediction, const Shape &target) const override {
    return chosen(target, prediction)->target_shape(prediction, target);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return chosen(e.shape(y_true), e.shape(y_pred))->items(e, y_true, y_pred);
  }

 private:
  static Of<Loss> chosen(const Shape &y_true, const Shape &y_pred) {
    static constexpr const char *names[] = {"BinaryCrossentropy", "CategoricalCrossentropy",
                                            "SparseCategoricalCrossentropy"};
    return parse<Loss>(names[static_cast<size_t>(targets_for(y_true, y_pred))]);
  }
};

}  // namespace

DL4_KINDS(crossentropies, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy,
          GeneralizedCrossentropy, BinaryFocalCrossentropy, CategoricalFocalCrossentropy, Crossentropy)

}  // namespace dl4::kinds
