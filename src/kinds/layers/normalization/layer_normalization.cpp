// LayerNormalization and RMSNormalization: normalise each sample over axes.
#include <algorithm>

#include "kinds/layers/normalization/scale_and_center.hpp"
#include "kinds/layers/normalization/standardized.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

void need_axes(const std::vector<int64_t> &axis) {
  if (axis.empty()) refuse_attribute("axis", "expected at least one axis");
}

// Shape of the weights: the axes' dims in ascending order of the given numbers, as in Keras.
Shape dims_of(Call &c, std::vector<int64_t> axis) {
  std::sort(axis.begin(), axis.end());
  Shape dims;
  for (int64_t a : axis) dims = dims.inserted(dims.rank(), known_dim(c, c.shape().axis(a)));
  return dims;
}

struct LayerNormalization : LayerOf<LayerNormalization> {
  static constexpr const char *doc =
      "gamma * (x - mean) / sqrt(variance + epsilon) + beta, the mean and variance over an axis, or over several axes "
      "together, of each item.";
  std::vector<int64_t> axis{-1};
  double epsilon = 1e-3;
  bool rms_scaling = false;
  ScaleAndCenter weights;

  void fields(Fields &f) override {
    f("axis", axis).doc("the axis, or a list of axes");
    f("epsilon", epsilon).doc("added to the variance");
    f("rms_scaling", rms_scaling).doc("gives gamma * x / sqrt(variance + epsilon), without mean and beta");
    weights.fields(f);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, ..., C)"}},
      .outputs = {{"y", "(B, ..., C)"}},
      .weights = {{"gamma", "the axes' dims", "scale"}, {"beta", "the axes' dims", "center"}},
      .mask = "passed on"};
  void check() override { need_axes(axis); }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const std::vector<int> axes = numbered(c.shape(), axis);
    ScaleAndCenter w = weights;
    if (rms_scaling) {
      w.scale = true;
      w.center = false;
    }
    const Shape dims = w.scale || w.center ? dims_of(c, axis) : Shape();
    Id gamma = w.gamma(c, dims), beta = w.beta(c, dims);
    if (rms_scaling) return {{by_deviation(c.e, c.x(), axes, gamma), c.mask()}};
    return {{standardized(c.e, c.x(), axes, epsilon, true, gamma, beta), c.mask()}};
  }

 private:
  Id by_deviation(ops::Emit &e, Id x, const std::vector<int> &axes, Id gamma) const {
    Id apart = sub(e, x, reduce(e, ops::Reduce::mean, x, axes, true));
    Id variance = reduce(e, ops::Reduce::mean, unary(e, ops::Unary::square, apart), axes, true);
    Id y = mul(e, x, unary(e, ops::Unary::rsqrt, add(e, variance, e.scalar(epsilon))));
    return mul(e, y, spread_over(e, gamma, x, axes));
  }
};

struct RMSNormalization : LayerOf<RMSNormalization> {
  static constexpr const char *doc =
      "scale * x / sqrt(mean of squares + epsilon), the mean over an axis, or over several axes together, of each "
      "item.";
  std::vector<int64_t> axis{-1};
  double epsilon = 1e-6;

  void fields(Fields &f) override {
    f("axis", axis)
        .doc("the axis, or a list of axes; scale multiplies along the last axes, also where these are others");
    f("epsilon", epsilon).doc("added to the mean of squares");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, ..., C)"}}, .outputs = {{"y", "(B, ..., C)"}}, .weights = {{"scale", "the axes' dims"}}};
  void check() override { need_axes(axis); }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const std::vector<int> axes = numbered(c.shape(), axis);
    Id scale = c.weight("scale", dims_of(c, axis), parse<Initializer>("Ones"));
    const Shape x = c.shape(), dims = c.e.shape(scale);
    const bool last = axes[0] == x.rank() - dims.rank() && dims == x.last(dims.rank());
    if (last) return {{standardized(c.e, c.x(), axes, epsilon, false, scale)}};
    // As in Keras: broadcast along the last axes, whichever were normalised.
    if (broadcast(x, dims) != x)
      fail(Code::shape_mismatch, "\"axis\": the scale of shape ", dims, " does not fit the last axes of ", x);
    return {{mul(c.e, standardized(c.e, c.x(), axes, epsilon, false), scale)}};
  }
};

}  // namespace
DL4_KINDS(layer_normalization, LayerNormalization, RMSNormalization)
}  // namespace dl4::kinds
