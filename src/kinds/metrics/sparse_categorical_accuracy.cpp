// SparseCategoricalAccuracy.
#include "kinds/metrics/accuracies.hpp"

namespace dl4::kinds {
namespace {

struct SparseCategoricalAccuracy : Metric {
  static constexpr const char *name = "SparseCategoricalAccuracy";
  static constexpr const char *doc = "share of samples whose largest prediction is at the class number";
  static auto fields() { return metric_fields(); }
  std::string usual_name() const override { return "sparse_categorical_accuracy"; }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    return {sparse_matches(e, y_true, y_pred), ops::none};
  }
};

}  // namespace

DL4_KIND(SparseCategoricalAccuracy)

}  // namespace dl4::kinds
