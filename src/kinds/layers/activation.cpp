// Activation: a function of keras.activations as a layer.
#include "kinds/layer.hpp"
#include "kinds/layers/facts.hpp"

namespace dl4::kinds {
namespace {

struct ActivationLayer : Layer {
  static constexpr const char *name = "Activation";
  static constexpr const char *doc = "Applies an activation function.";
  Activation activation;

  static auto fields() {
    return std::tuple{field("activation", &ActivationLayer::activation).required().doc("the function")};
  }
  static Json more() {
    return Facts{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"}.json();
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{activation(c.e, c.x()), c.mask()}};
  }
};

}  // namespace
DL4_KIND(ActivationLayer)
}  // namespace dl4::kinds
