// CosineSimilarity, the metric: the loss of that name with the other sign.
#include "kinds/loss.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

struct CosineSimilarityMetric : Metric {
  static constexpr const char *name = "CosineSimilarity";
  static constexpr const char *doc = "mean cosine of the angle between y_true and y_pred along the axis";
  int64_t axis = -1;

  static auto fields() {
    return std::tuple_cat(
        metric_fields(),
        std::tuple{field("axis", &CosineSimilarityMetric::axis).otherwise(-1).doc("axis of the vectors")});
  }
  std::string usual_name() const override { return "cosine_similarity"; }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    int at = e.shape(p).axis(axis);
    return {reduce(e, ops::Reduce::sum, mul(e, normalised(e, t, {at}), normalised(e, p, {at})), {at}), ops::none};
  }
};

}  // namespace

DL4_KIND(CosineSimilarityMetric)

}  // namespace dl4::kinds
