// Activation: a function of keras.activations as a layer.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct ActivationLayer : Layer {
  static constexpr const char *name = "Activation";
  static constexpr const char *doc = "Applies an activation function.";
  Activation activation;

  void fields(Fields &f) override { f("activation", activation).required(R"("relu")").doc("the function"); }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    if (activation.is_linear()) return {{c.x(), c.mask()}};
    if ((type == DType::i32 || type == DType::i64) && activation.name() == "relu" && activation.to_json() == "relu")
      return {{ops::binary(c.e, ops::Binary::max, c.x(), c.e.scalar(0, type)), c.mask()}};
    c.as_float(0);
    return {{activation(c.e, c.x()), c.mask()}};
  }
};

}  // namespace
DL4_KIND(ActivationLayer)
}  // namespace dl4::kinds
