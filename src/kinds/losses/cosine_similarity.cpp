// CosineSimilarity: the loss, and the metric with opposite sign.
#include "kinds/metric.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

struct CosineSimilarity : Loss {
  static constexpr const char *name = "CosineSimilarity";
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
  std::string usual_name() const override { return "cosine_similarity"; }
  std::optional<bool> rises() const override { return true; }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    int at = e.shape(p).axis(axis);
    return {reduce(e, ops::Reduce::sum, mul(e, normalised(e, t, {at}), normalised(e, p, {at})), {at}), ops::none};
  }
};

}  // namespace

DL4_KIND(CosineSimilarity)
DL4_KIND(CosineSimilarityMetric)

}  // namespace dl4::kinds
