// UnitNormalization and LocalResponseNormalization.
#include "kinds/layer.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct UnitNormalization : LayerOf<UnitNormalization> {
  static constexpr const char *doc =
      "x over its norm along an axis, or along several axes together: x / max(norm, 1e-12).";
  std::vector<int64_t> axis{-1};

  void fields(Fields &f) override { f("axis", axis).doc("the axis, or a list of axes"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  void check() override {
    if (axis.empty()) refuse_attribute("axis", "expected at least one axis");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{normalised(c.e, c.x(), axis, 1e-12), c.mask()}};
  }
};

struct LocalResponseNormalization : LayerOf<LocalResponseNormalization> {
  static constexpr const char *doc =
      "x / (bias + alpha sum(x^2))^beta, summed over the features up to depth_radius away, as in AlexNet and in "
      "TensorFlow's local_response_normalization. Not a layer of Keras.";
  int64_t depth_radius = 5;
  double bias = 1, alpha = 1, beta = 0.5;

  void fields(Fields &f) override {
    f("depth_radius", depth_radius).at_least(0).at_most(max_dim).doc("how far features count, to either side");
    f("bias", bias).doc("added to the sum, so that it is not 0");
    f("alpha", alpha).doc("multiplies the sum of squares");
    f("beta", beta).doc("the power");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(..., C)"}}, .outputs = {{"y", "(..., C)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    c.need_rank_from(0, 2);
    c.need_float(0);
    const int64_t features = c.last_dim();
    // A product with a band matrix of ones.
    ops::Id shape = ops::fill(e, DType::f32, 0, c.x(), 0, {features, features});
    ops::Id near = ops::cast(e, ops::band_mask(e, shape, depth_radius, depth_radius), DType::f32);
    ops::Id sums = ops::matmul(e, ops::unary(e, ops::Unary::square, c.x()), near);
    ops::Id energy = ops::add(e, ops::scale(e, sums, static_cast<float>(alpha)), e.scalar(bias));
    return {{ops::div(e, c.x(), ops::binary(e, ops::Binary::pow, energy, e.scalar(beta))), c.mask()}};
  }
};

}  // namespace
DL4_KINDS(unit_normalization, UnitNormalization, LocalResponseNormalization)
}  // namespace dl4::kinds
