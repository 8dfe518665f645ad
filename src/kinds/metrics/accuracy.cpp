// Accuracy: equality, or what Keras's word "accuracy" means.
#include "kinds/choice.hpp"
#include "kinds/metrics/accuracies.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

struct Accuracy : Metric {
  static constexpr const char *name = "Accuracy";
  static constexpr const char *doc =
      "share of predictions that equal their targets; the words \"accuracy\" and \"acc\" in a trainer's metrics mean "
      "by_shape";
  bool by_shape = false;

  static auto fields() {
    return std::tuple_cat(
        metric_fields(), std::tuple{field("by_shape", &Accuracy::by_shape)
                                        .otherwise(false)
                                        .doc("be BinaryAccuracy for one output a sample, SparseCategoricalAccuracy for "
                                             "class numbers, else CategoricalAccuracy")});
  }
  std::string usual_name() const override { return "accuracy"; }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    if (!by_shape) {
      auto [t, p] = matched(e, y_true, y_pred);
      return {cast(e, binary(e, ops::Binary::equal, t, p), DType::f32), ops::none};
    }
    switch (choice(e.shape(y_true), e.shape(y_pred))) {
      case Choice::binary:
        return {binary_matches(e, y_true, y_pred, 0.5f), ops::none};
      case Choice::sparse:
        return {sparse_matches(e, y_true, y_pred), ops::none};
      case Choice::categorical:
        break;
    }
    return {categorical_matches(e, y_true, y_pred), ops::none};
  }
};

}  // namespace

DL4_KIND(Accuracy)

}  // namespace dl4::kinds
