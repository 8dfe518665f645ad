// Ftrl.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct Ftrl : Optimizer {
  static constexpr const char *name = "Ftrl";
  static constexpr const char *doc =
      "follow the regularized leader: sum of squares n and linear z, w = (clip(z, -l1, l1) - z) / (n^-power / "
      "learning_rate + 2 * l2)";
  ops::Ftrl how;
  double start = 0.1;

  Ftrl() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("learning_rate_power", how.power).at_most(0).doc("how the learning rate falls with n");
    f("initial_accumulator_value", start).at_least(0).doc("n before the first update");
    f("l1_regularization_strength", how.l1).at_least(0).doc("|z| up to which w is 0");
    f("l2_regularization_strength", how.l2).at_least(0).doc("penalty of w^2");
    f("l2_shrinkage_regularization_strength", how.l2_shrinkage)
        .at_least(0)
        .doc("penalty of w^2 that goes into z but not into n");
    f("beta", how.beta).doc("added to the second penalty as beta / (2 * learning_rate)");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
  }
  SlotGroups slots(const Part &) const override { return {{{"accumulator", static_cast<float>(start)}, {"linear"}}}; }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

}  // namespace

DL4_KIND(Ftrl)

}  // namespace dl4::kinds
