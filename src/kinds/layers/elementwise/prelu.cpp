// PReLU: a learned slope for negative values.
#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {
namespace {

struct PReLU : Layer {
  static constexpr const char *name = "PReLU";
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
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}},
                                      .outputs = {{"y", "(B, ...)"}},
                                      .weights = {{"alpha", "(...), 1 on shared axes"}},
                                      .mask = "passed on"};
    return plain;
  }

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
DL4_KIND(PReLU)
}  // namespace dl4::kinds
