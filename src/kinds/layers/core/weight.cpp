// Weight: a single weight, for composing layers.
#include "base/error.hpp"
#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {
namespace {

struct WeightLayer : LayerOf<WeightLayer> {
  static constexpr const char *name = "Weight";
  static constexpr const char *doc = "A weight as a value: called on nothing, for layers that are made of others.";
  std::vector<int64_t> dims;
  Of<Initializer> initializer = parse<Initializer>("GlorotUniform");
  Of<Regularizer> regularizer;
  Of<Constraint> constraint;
  bool learned = true;

  void fields(Fields &f) override {
    f("shape", dims).required("[2, 3]").at_least(0).at_most(max_dim).doc("its axes; [] for a single number");
    f("initializer", initializer).doc("fills it at the start");
    f("regularizer", regularizer).doc("penalty on it, added to the loss");
    f("constraint", constraint).doc("applied to it after every update");
    f("learned", learned).doc("whether gradients change it");
  }
  static constexpr PlainFacts plain{.inputs = {}, .outputs = {{"value", "(shape)"}}, .weights = {{"value", "(shape)"}}};
  Arity arity() const override { return {0, 0}; }
  bool gives_weight() const override { return true; }
  void check() override {
    if (dims.size() > static_cast<size_t>(max_rank))
      throw Error(Code::invalid_argument, text("\"shape\": expected at most ", max_rank, " axes, got ", dims.size()))
          .with("attribute", "shape");
  }

  std::vector<Symbol> call(Call &c) const override {
    Shape shape;
    for (int64_t d : dims) shape = shape.inserted(shape.rank(), d);
    return {{c.host.weight({"value", shape, initializer, regularizer, constraint, learned})}};
  }
};

}  // namespace
DL4_KIND(WeightLayer)
}  // namespace dl4::kinds
