// CategoricalAccuracy.
#include "kinds/metrics/accuracies.hpp"

namespace dl4::kinds {
namespace {

struct CategoricalAccuracy : Metric {
  static constexpr const char *name = "CategoricalAccuracy";
  static constexpr const char *doc = "share of samples whose largest prediction is at the largest target";
  static auto fields() { return metric_fields(); }
  std::string usual_name() const override { return "categorical_accuracy"; }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    return {categorical_matches(e, y_true, y_pred), ops::none};
  }
};

}  // namespace

DL4_KIND(CategoricalAccuracy)

}  // namespace dl4::kinds
