// Adadelta.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct Adadelta : Optimizer {
  static constexpr const char *name = "Adadelta";
  static constexpr const char *doc =
      "running means a of g^2 and d of step^2: step = g * sqrt(d + epsilon) / sqrt(a + epsilon), w -= learning_rate * "
      "step";
  ops::Adadelta how;

  Adadelta() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("rho", how.rho).at_least(0).at_most(1).doc("decay of both means");
    f("epsilon", how.epsilon).at_least(0).doc("added to both, within the roots");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
  }
  SlotGroups slots(const Part &) const override { return {{{"accumulated_grad"}, {"accumulated_delta_var"}}}; }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

}  // namespace

DL4_KIND(Adadelta)

}  // namespace dl4::kinds
