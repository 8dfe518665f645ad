// Losses by distance: Huber and cosine similarity.
#include "kinds/metric.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;

struct Huber : Loss {
  static constexpr const char *doc =
      "0.5 * e^2 where |e| = |y_pred - y_true| <= delta, else delta * |e| - 0.5 * delta^2, averaged over the last axis";
  double delta = 1;

  void fields(Fields &f) override {
    f("delta", delta).at_least(0).doc("where the square ends; the slope beyond");
    Loss::fields(f);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    auto d = static_cast<float>(delta);
    Id size = unary(e, Unary::abs, sub(e, p, t));
    Id inner = scale(e, unary(e, Unary::square, size), 0.5f);
    Id outer = unary(e, Unary::scale_shift, size, {d, -0.5f * d * d});
    Id v = select(e, binary(e, Binary::less_equal, size, e.scalar(d)), inner, outer);
    return {reduce(e, ops::Reduce::mean, v, {-1}), ops::none};
  }
};

struct CosineSimilarity : Loss {
  static constexpr bool has_mean = false;
  static constexpr const char *doc = "minus the cosine of the angle between y_true and y_pred along the axis";
  int64_t axis = -1;

  void fields(Fields &f) override {
    f("axis", axis).doc("axis of the vectors");
    Loss::fields(f);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    int at = e.shape(p).axis(axis);
    Id product = mul(e, normalised(e, t, {at}), normalised(e, p, {at}));
    return {unary(e, ops::Unary::neg, reduce(e, ops::Reduce::sum, product, {at})), ops::none};
  }
};

struct CosineSimilarityMetric : MeanMetric {
  static constexpr const char *name = "CosineSimilarity";
  static constexpr const char *doc = "mean cosine of the angle between y_true and y_pred along the axis";
  int64_t axis = -1;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("axis", axis).doc("axis of the vectors");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    int at = e.shape(p).axis(axis);
    return {reduce(e, ops::Reduce::sum, mul(e, normalised(e, t, {at}), normalised(e, p, {at})), {at}), ops::none};
  }
};

}  // namespace
DL4_KINDS(distances, Huber, CosineSimilarity, CosineSimilarityMetric)
}  // namespace dl4::kinds
