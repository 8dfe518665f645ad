// ELU: exponential for negative values.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct ELU : Layer {
  static constexpr const char *name = "ELU";
  static constexpr const char *doc = "x where x > 0, else alpha * (exp(x) - 1).";
  double alpha = 1;

  void fields(Fields &f) override { f("alpha", alpha).doc("the limit below 0, negated"); }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{ops::unary(c.e, ops::Unary::elu, c.x(), {static_cast<float>(alpha)}), c.mask()}};
  }
};

}  // namespace
DL4_KIND(ELU)
}  // namespace dl4::kinds
