// Lamb.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct Lamb : Optimizer {
  static constexpr const char *name = "Lamb";
  static constexpr const char *doc = "Adam's step s, scaled for each weight: w -= learning_rate * |w| / |s| * s";
  ops::Lamb how;

  Lamb() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1).at_least(0).at_most(1).doc("decay of the mean of g, below 1");
    f("beta_2", how.beta_2).at_least(0).at_most(1).doc("decay of the mean of g^2, below 1");
    f("epsilon", how.epsilon).at_least(0).doc("added to the root of the second");
  }
  void check() override {
    Optimizer::check();
    want_below_1("beta_1", how.beta_1);
    want_below_1("beta_2", how.beta_2);
  }
  SlotGroups slots(const Part &) const override { return {{{"momentum"}, {"velocity"}}}; }
  Id update(Update &u) const override {
    ops::Emit &e = u.e;
    u.g = u.moved(*this, how, u.g);
    return u.by_weight(decay(), [&](const Part &, Id w, Id step) {
      auto norm = [&](Id v) { return unary(e, ops::Unary::sqrt, square_sum(e, v)); };
      auto positive = [&](Id v) { return binary(e, ops::Binary::greater, v, e.scalar(0)); };
      Id of_w = norm(w), of_step = norm(step), one = e.scalar(1);
      Id ratio = select(e, positive(of_w), select(e, positive(of_step), div(e, of_w, of_step), one), one);
      return sub(e, w, mul(e, step, mul(e, ratio, u.learning_rate)));
    });
  }
};

}  // namespace

DL4_KIND(Lamb)

}  // namespace dl4::kinds
