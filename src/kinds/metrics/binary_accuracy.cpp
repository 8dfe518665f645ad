// BinaryAccuracy.
#include "kinds/metrics/accuracies.hpp"

namespace dl4::kinds {
namespace {

struct BinaryAccuracy : Metric {
  static constexpr const char *name = "BinaryAccuracy";
  static constexpr const char *doc = "share of predictions that lie above the threshold exactly where the target is 1";
  double threshold = 0;
  static auto fields() {
    return std::tuple_cat(
        metric_fields(),
        std::tuple{field("threshold", &BinaryAccuracy::threshold).otherwise(0.5).doc("predictions above it say 1")});
  }
  std::string usual_name() const override { return "binary_accuracy"; }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    return {binary_matches(e, y_true, y_pred, static_cast<float>(threshold)), ops::none};
  }
};

}  // namespace

DL4_KIND(BinaryAccuracy)

}  // namespace dl4::kinds
