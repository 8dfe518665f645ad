// TopKCategoricalAccuracy.
#include "kinds/metrics/accuracies.hpp"

namespace dl4::kinds {
namespace {

struct TopKCategoricalAccuracy : Metric {
  static constexpr const char *name = "TopKCategoricalAccuracy";
  static constexpr const char *doc = "share of samples whose largest target is among the k largest predictions";
  int64_t k = 0;
  static auto fields() {
    return std::tuple_cat(
        metric_fields(),
        std::tuple{field("k", &TopKCategoricalAccuracy::k).otherwise(5).at_least(1).doc("how many count")});
  }
  std::string usual_name() const override { return "top_k_categorical_accuracy"; }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {top_k_matches(e, argmax(e, t, -1), p, k), ops::none};
  }
};

}  // namespace

DL4_KIND(TopKCategoricalAccuracy)

}  // namespace dl4::kinds
