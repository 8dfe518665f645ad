// LeakyReLU: a constant slope for negative values.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct LeakyReLU : Layer {
  static constexpr const char *name = "LeakyReLU";
  static constexpr const char *doc = "x where x > 0, else negative_slope * x.";
  double negative_slope = 0.3;

  void fields(Fields &f) override { f("negative_slope", negative_slope).at_least(0).doc("slope below 0"); }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.as_float(0);
    return {{ops::unary(c.e, ops::Unary::leaky_relu, c.x(), {static_cast<float>(negative_slope)}), c.mask()}};
  }
};

}  // namespace
DL4_KIND(LeakyReLU)
}  // namespace dl4::kinds
