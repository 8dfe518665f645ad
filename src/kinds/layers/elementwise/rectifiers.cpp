// Rectifiers with a slope below zero, and ELU.
#include <cmath>
#include <limits>

#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {
namespace {

struct ReLU : LayerOf<ReLU> {
  static constexpr const char *doc =
      "max_value where x >= max_value, x from the threshold up, else negative_slope * (x - threshold).";
  std::optional<double> max_value;
  double negative_slope = 0, threshold = 0;

  void fields(Fields &f) override {
    f("max_value", max_value).at_least(0).doc("the largest output; null = none");
    f("negative_slope", negative_slope).at_least(0).doc("slope below the threshold");
    f("threshold", threshold).at_least(0).doc("where the rise begins");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    if (type == DType::i32 || type == DType::i64) return {{whole(c, type), c.mask()}};
    c.need_float(0);
    bool simple = !max_value && negative_slope == 0 && threshold == 0;
    float most = max_value ? static_cast<float>(*max_value) : std::numeric_limits<float>::infinity();
    ops::Id y = simple ? ops::unary(c.e, ops::Unary::relu, c.x())
                       : ops::unary(c.e, ops::Unary::relu_general, c.x(),
                                    {static_cast<float>(negative_slope), most, static_cast<float>(threshold)});
    return {{y, c.mask()}};
  }

 private:
  // Integers stay integers, as in Keras, which then has no slope or threshold.
  ops::Id whole(Call &c, DType type) const {
    if (negative_slope != 0 || threshold != 0) c.need_float(0);
    const ops::Id y = ops::binary(c.e, ops::Binary::max, c.x(), c.e.scalar(0, type));
    if (!max_value) return y;
    if (*max_value != std::floor(*max_value)) c.need_float(0);
    return ops::binary(c.e, ops::Binary::min, y, c.e.scalar(*max_value, type));
  }
};

struct LeakyReLU : LayerOf<LeakyReLU> {
  static constexpr const char *doc = "x where x > 0, else negative_slope * x.";
  double negative_slope = 0.3;

  void fields(Fields &f) override { f("negative_slope", negative_slope).at_least(0).doc("slope below 0"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.as_float(0);
    return {{ops::unary(c.e, ops::Unary::leaky_relu, c.x(), {static_cast<float>(negative_slope)}), c.mask()}};
  }
};

struct ELU : LayerOf<ELU> {
  static constexpr const char *doc = "x where x > 0, else alpha * (exp(x) - 1).";
  double alpha = 1;

  void fields(Fields &f) override { f("alpha", alpha).doc("the limit below 0, negated"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{ops::unary(c.e, ops::Unary::elu, c.x(), {static_cast<float>(alpha)}), c.mask()}};
  }
};

struct PReLU : LayerOf<PReLU> {
  static constexpr const char *doc = "x where x > 0, else alpha * x, with a learned alpha for every feature.";
  Of<Initializer> alpha_initializer = parse<Initializer>("Zeros");
  Of<Regularizer> alpha_regularizer;
  Of<Constraint> alpha_constraint;
  std::optional<std::vector<int64_t>> shared_axes;

  void fields(Fields &f) override {
    f("alpha_initializer", alpha_initializer).doc("fills alpha at the start");
    f("alpha_regularizer", alpha_regularizer).doc("penalty on alpha, added to the loss");
    f("alpha_constraint", alpha_constraint).doc("applied to alpha after every update");
    f("shared_axes", shared_axes).at_least(1).doc("axes, counted from 1, along which one alpha serves all");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}},
                                    .outputs = {{"y", "(B, ...)"}},
                                    .weights = {{"alpha", "(...), 1 on shared axes"}},
                                    .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.need_float(0);
    Shape alpha_shape = c.shape().without(0);
    if (shared_axes)
      for (int64_t axis : *shared_axes) alpha_shape = alpha_shape.with(c.shape().axis(axis) - 1, 1);
    if (!alpha_shape.known())
      fail(Code::shape_mismatch, "every axis that is not shared should be known. Full shape received: ", c.shape());
    ops::Id alpha = c.weight("alpha", alpha_shape, alpha_initializer, alpha_regularizer, alpha_constraint);
    ops::Id below = ops::unary(c.e, ops::Unary::relu, ops::unary(c.e, ops::Unary::neg, c.x()));
    return {{ops::sub(c.e, ops::unary(c.e, ops::Unary::relu, c.x()), ops::mul(c.e, alpha, below)), c.mask()}};
  }
};

}  // namespace
DL4_KINDS(rectifiers, ReLU, LeakyReLU, ELU, PReLU)
}  // namespace dl4::kinds
