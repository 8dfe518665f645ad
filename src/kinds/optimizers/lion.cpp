// Lion.
#include "base/error.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct Lion : Optimizer {
  static constexpr const char *name = "Lion";
  static constexpr const char *doc =
      "w -= learning_rate * sign(beta_1 * m + (1 - beta_1) * g), then m = beta_2 * m + (1 - beta_2) * g";
  ops::Lion how;

  Lion() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1).at_least(0).at_most(1).doc("part of m in the step, above 0");
    f("beta_2", how.beta_2).at_least(0).at_most(1).doc("decay of m");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
    if (how.beta_1 == 0)
      throw Error(Code::invalid_argument, "\"beta_1\": expected above 0, got 0").with("attribute", "beta_1");
  }
  SlotGroups slots(const Part &) const override { return {{{"momentum"}}}; }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

}  // namespace

DL4_KIND(Lion)

}  // namespace dl4::kinds
