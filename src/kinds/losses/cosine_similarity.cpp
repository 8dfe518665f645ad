// CosineSimilarity, the loss; the metric has the other sign and a file of its own.
#include "kinds/loss.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

struct CosineSimilarity : Loss {
  static constexpr const char *name = "CosineSimilarity";
  static constexpr const char *doc = "minus the cosine of the angle between y_true and y_pred along the axis";
  int64_t axis = -1;

  static auto fields() {
    return std::tuple_cat(std::tuple{field("axis", &CosineSimilarity::axis).otherwise(-1).doc("axis of the vectors")},
                          loss_fields());
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    int at = e.shape(p).axis(axis);
    Id product = mul(e, normalised(e, t, {at}), normalised(e, p, {at}));
    return {unary(e, ops::Unary::neg, reduce(e, ops::Reduce::sum, product, {at})), ops::none};
  }
};

}  // namespace

DL4_KIND(CosineSimilarity)

}  // namespace dl4::kinds
