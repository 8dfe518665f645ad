// Adagrad.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct Adagrad : Optimizer {
  static constexpr const char *name = "Adagrad";
  static constexpr const char *doc = "sum of squares s: w -= learning_rate * g / sqrt(s + epsilon)";
  ops::Adagrad how;
  double start = 0.1;

  Adagrad() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("initial_accumulator_value", start).at_least(0).doc("s before the first update");
    f("epsilon", how.epsilon).at_least(0).doc("added to s, within the root");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
  }
  SlotGroups slots(const Part &) const override { return {{{"accumulator", static_cast<float>(start)}}}; }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

}  // namespace

DL4_KIND(Adagrad)

}  // namespace dl4::kinds
