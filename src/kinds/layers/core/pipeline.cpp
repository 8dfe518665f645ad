// Pipeline: layers one after the other, as one layer.
#include "base/error.hpp"
#include "kinds/inner_layer.hpp"

namespace dl4::kinds {
namespace {

struct Pipeline final : Layer {
  static constexpr const char *doc = "Layers one after the other, as one layer, which may change images in training.";
  std::vector<InnerLayer> layers;

  void fields(Fields &f) override {
    f("layers", layers)
        .required(R"([{"class_name": "Rescaling", "config": {"scale": 2}}])")
        .doc("the layers, the first one first");
  }
  void check() override {
    if (layers.empty()) refuse_attribute("layers", "expected at least one layer, got []");
    number_names(layers);
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}},
                                      .outputs = {{"y", "(...), that of the last layer"}},
                                      .weights = {{"weights", "those of the layers, under their names"}},
                                      .inside = {{"layers", "layers"}},
                                      .mask = "passed on"};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override {
    std::vector<Symbol> x = c.in;
    x[0].mask = c.mask();
    Arguments arguments;
    if (c.arguments().plain.contains("training")) arguments.plain["training"] = c.training();
    for (const InnerLayer &layer : layers) x = c.run(layer, {x[0]}, arguments);
    return {x[0]};
  }
};

}  // namespace
DL4_KINDS(pipeline, Pipeline)
}  // namespace dl4::kinds
