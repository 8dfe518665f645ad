// Adam and AdamW.
#include "base/error.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct Adam : Optimizer {
  static constexpr const char *name = "Adam";
  static constexpr const char *doc =
      "running means m of g and v of g^2: w -= learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + "
      "epsilon). Gradients of an embedding's repeated ids are summed before they are squared, as in Keras on JAX and "
      "PyTorch";
  ops::Adam how;

  Adam() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1).at_least(0).at_most(1).doc("decay of m, below 1");
    f("beta_2", how.beta_2).at_least(0).at_most(1).doc("decay of v, below 1");
    f("epsilon", how.epsilon).at_least(0).doc("added to sqrt(v), not bias-corrected");
    f("amsgrad", how.amsgrad).doc("divide by the greatest v so far");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
    want_below_1("beta_1", how.beta_1);
    want_below_1("beta_2", how.beta_2);
  }
  SlotGroups slots(const Part &) const override {
    SlotGroups all{{{"momentum"}, {"velocity"}}};
    if (how.amsgrad) all.push_back({{"velocity_hat"}});
    return all;
  }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

struct AdamW : Adam {
  static constexpr const char *name = "AdamW";
  static constexpr const char *doc = "Adam with a weight decay; what is not to decay is said to the trainer";
  AdamW() { weight_decay = 0.004; }
  void check() override {
    Adam::check();
    if (!weight_decay) fail(Code::invalid_argument, "\"weight_decay\": expected a number, got null");
  }
};

}  // namespace

DL4_KIND(Adam)
DL4_KIND(AdamW)

}  // namespace dl4::kinds
