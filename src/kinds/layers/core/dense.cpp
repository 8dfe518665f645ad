// Dense: x times a kernel, plus a bias, through an activation.
#include "kinds/layers/core/weights.hpp"

namespace dl4::kinds {
namespace {

struct Dense : Layer {
  static constexpr const char *name = "Dense";
  static constexpr const char *doc =
      "The product of the last axis with a kernel, plus a bias, through an activation: activation(x kernel + bias).";
  int64_t units = 0;
  Activation activation;
  KernelAndBias weights;

  void fields(Fields &f) override {
    f("units", units).required("4").at_least(1).at_most(max_dim).doc("size of the output's last axis");
    f("activation", activation).doc("applied to the sum");
    weights.fields(f);
  }
  Facts facts() const override {
    return {.inputs = {{"x", "(B, ..., I)"}},
            .outputs = {{"y", "(B, ..., units)"}},
            .weights = {{"kernel", "(I, units)"}, {"bias", "(units)", "use_bias"}},
            .mask = "passed on"};
  }

  bool by_step(int) const override { return true; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.as_float(0);
    ops::Id w = weights.kernel(c, {c.last_dim(), units});
    ops::Id y = activation(c.e, ops::matmul(c.e, c.x(), w, {}, weights.bias(c, units)));
    c.penalize(weights.activity_regularizer, y);
    return {{y, c.mask()}};
  }
};

}  // namespace
DL4_KIND(Dense)
}  // namespace dl4::kinds
