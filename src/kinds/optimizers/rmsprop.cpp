// RMSprop.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct RMSprop : Optimizer {
  static constexpr const char *name = "RMSprop";
  static constexpr const char *doc =
      "running mean v of g^2: w -= learning_rate * g / sqrt(v + epsilon). Gradients of an embedding's repeated ids are "
      "summed before they are squared";
  ops::RmsProp how;

  RMSprop() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("rho", how.rho).at_least(0).at_most(1).doc("decay of v");
    f("momentum", how.momentum).at_least(0).at_most(1).doc("how much of the last step goes into this one");
    f("epsilon", how.epsilon).at_least(0).doc("added to v, within the root");
    f("centered", how.centered).doc("v less the square of the running mean of g in the place of v");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
  }
  SlotGroups slots(const Part &) const override {
    SlotGroups all{{{"velocity"}}};
    if (how.momentum > 0) all.push_back({{"momentum"}});
    if (how.centered) all.push_back({{"average_gradient"}});
    return all;
  }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

}  // namespace

DL4_KIND(RMSprop)

}  // namespace dl4::kinds
