// SGD.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct SGD : Optimizer {
  static constexpr const char *name = "SGD";
  static constexpr const char *doc =
      "w -= learning_rate * g, with momentum m = momentum * m - learning_rate * g; w += m";
  ops::Sgd how;

  SGD() : Optimizer(0.01) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("momentum", how.momentum).at_least(0).at_most(1).doc("how much of the last step goes into this one");
    f("nesterov", how.nesterov).doc("w += momentum * m - learning_rate * g; nothing without momentum");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
  }
  SlotGroups slots(const Part &) const override {
    if (how.momentum == 0) return {};
    return {{{"momentum"}}};
  }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

}  // namespace

DL4_KIND(SGD)

}  // namespace dl4::kinds
