// Focal losses: crossentropies that weigh well-predicted samples less.
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none, ops::Reduce, ops::Unary;

void gamma_field(Fields &f, double &place) { f("gamma", place).at_least(0).doc("how much less; 0: not at all"); }

Id focus(Emit &e, Id p, double gamma) { return power(e, one_minus(e, p), gamma); }

struct BinaryFocalCrossentropy : SmoothedLoss {
  static constexpr const char *doc =
      "BinaryCrossentropy's terms times (1 - p_t)^gamma, p_t the probability of the right answer, averaged over the "
      "axis";
  bool apply_class_balancing = false;
  double alpha = 0.25, gamma = 2;

  void fields(Fields &f) override {
    f("apply_class_balancing", apply_class_balancing).doc("weigh the classes by alpha");
    f("alpha", alpha).doc("weight of class 1 where they are weighed; 1 - alpha is that of class 0");
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
    f("alpha", alpha).doc("weight of all classes, or one for each");
    gamma_field(f, gamma);
    f("from_logits", from_logits).doc("predictions are logits");
    smoothing_field(f, label_smoothing);
    f("axis", axis).doc("axis of the classes");
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

}  // namespace

DL4_KINDS(focal, BinaryFocalCrossentropy, CategoricalFocalCrossentropy)

}  // namespace dl4::kinds
