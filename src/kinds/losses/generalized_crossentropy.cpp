// CategoricalGeneralizedCrossEntropy.
#include "base/error.hpp"
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::Unary;

struct GeneralizedCrossentropy : Loss {
  static constexpr const char *name = "CategoricalGeneralizedCrossEntropy";
  static constexpr const char *doc =
      "(1 - p[y_true]^q) / q for class numbers y_true: for labels some of which are wrong; a number outside the "
      "classes stops the run";
  double q = 0.5;

  void fields(Fields &f) override {
    f("q", q).at_least(0).at_most(1).doc(
        "between 0 and 1: near 0 it is the crossentropy, near 1 the mean absolute error");
    Loss::fields(f);
  }
  void check() override {
    if (q > 0 && q < 1) return;
    throw Error(Code::invalid_argument, text("\"q\": expected a number between 0 and 1, got ", q))
        .with("attribute", "q");
  }
  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override {
    return prediction.first(prediction.rank() - 1);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id labels = class_numbers(e, y_true, y_pred);
    Id rows = reshape(e, cast(e, y_pred, DType::f32), 0, {free_dim, e.shape(y_pred).last()});
    Id p = pick(e, rows, reshape(e, labels, 0, {free_dim}));
    const auto by = static_cast<float>(1 / q);
    Id v = unary(e, Unary::scale_shift, power(e, p, q), {-by, by});
    return {reshape_like(e, v, labels), ops::none};
  }
};

}  // namespace

DL4_LOSS(GeneralizedCrossentropy, "categorical_generalized_cross_entropy")

}  // namespace dl4::kinds
