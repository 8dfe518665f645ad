// ActivityRegularization: the identity with a penalty.
#include "kinds/layer.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {
namespace {

struct ActivityRegularization : Layer {
  static constexpr const char *name = "ActivityRegularization";
  static constexpr const char *doc =
      "Passes its input on and adds l1 * sum(|x|) + l2 * sum(x^2), divided by the batch size, to the loss.";
  double l1 = 0, l2 = 0;
  Of<Regularizer> penalty;

  void fields(Fields &f) override {
    f("l1", l1).at_least(0).doc("factor of the sum of absolute values");
    f("l2", l2).at_least(0).doc("factor of the sum of squares");
  }
  void check() override {
    penalty = parse<Regularizer>({{"class_name", "L1L2"}, {"config", {{"l1", l1}, {"l2", l2}}}});
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    c.penalize(penalty, c.x());
    return {{c.x(), c.mask()}};
  }
};

}  // namespace
DL4_KIND(ActivityRegularization)
}  // namespace dl4::kinds
