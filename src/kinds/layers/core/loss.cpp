// Loss: a loss as a layer of a graph.
#include "kinds/loss.hpp"

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct LossLayer : LayerOf<LossLayer> {
  static constexpr const char *name = "Loss";
  static constexpr const char *doc =
      "A loss, called on targets, predictions and, if wanted, sample weights; the mask of the predictions counts. Its "
      "reduction decides whether a number comes out or, with \"none\", a value for each item.";
  Of<Loss> loss;

  void fields(Fields &f) override {
    f("loss", loss).required(R"({"class_name": "Huber", "config": {"reduction": "none"}})").doc("the loss");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"y_true", "(B, ...)"}, {"y_pred", "(B, ...)"}, {"sample_weight", "(B) or (B, ...)"}},
      .outputs = {{"loss", "(), with reduction none the shape of the items"}}};
  Arity arity() const override { return {2, 3}; }
  void check() override {
    if (!loss) throw Error(Code::invalid_argument, "\"loss\": expected a loss, got null").with("attribute", "loss");
  }

  std::vector<Symbol> call(Call &c) const override {
    return {{loss->value(c.e, c.x(0), c.x(1), c.in.size() > 2 ? c.x(2) : ops::none, c.mask(1))}};
  }
};

}  // namespace
DL4_KIND(LossLayer)
}  // namespace dl4::kinds
