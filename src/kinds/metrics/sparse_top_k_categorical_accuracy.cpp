// SparseTopKCategoricalAccuracy.
#include "kinds/metrics/accuracies.hpp"

namespace dl4::kinds {
namespace {

struct SparseTopKCategoricalAccuracy : Metric {
  static constexpr const char *name = "SparseTopKCategoricalAccuracy";
  static constexpr const char *doc = "share of samples whose class number is among the k largest predictions";
  int64_t k = 0;
  static auto fields() {
    return std::tuple_cat(
        metric_fields(),
        std::tuple{field("k", &SparseTopKCategoricalAccuracy::k).otherwise(5).at_least(1).doc("how many count")});
  }
  std::string usual_name() const override { return "sparse_top_k_categorical_accuracy"; }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    return {top_k_matches(e, class_numbers(e, y_true, y_pred), y_pred, k), ops::none};
  }
};

}  // namespace

DL4_KIND(SparseTopKCategoricalAccuracy)

}  // namespace dl4::kinds
