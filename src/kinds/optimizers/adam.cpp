// Adam.
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
  bool amsgrad = false;

  Adam() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1).at_least(0).at_most(1).doc("decay of m, below 1");
    f("beta_2", how.beta_2).at_least(0).at_most(1).doc("decay of v, below 1");
    f("epsilon", how.epsilon).at_least(0).doc("added to sqrt(v), not bias-corrected");
    f("amsgrad", amsgrad).doc("divide by the greatest v so far");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
    auto below_1 = [](const char *key, double v) {
      if (!(v < 1))
        throw Error(Code::invalid_argument, text('"', key, "\": expected below 1, got ", Json(v).dump()))
            .with("attribute", key);
    };
    below_1("beta_1", how.beta_1);
    below_1("beta_2", how.beta_2);
  }
  ops::Id update(Update &u) const override {
    ops::Id m = u.slot("momentum", 0), v = u.slot("velocity", 0);
    ops::Id vhat = amsgrad ? u.slot("velocity_hat", 0) : ops::none;
    auto next = ops::adam(u.e, u.w, u.g, m, v, vhat, u.learning_rate, u.t, how);
    u.e.write(m, next.m);
    u.e.write(v, next.v);
    if (amsgrad) u.e.write(vhat, next.vhat);
    return next.w;
  }
};

}  // namespace

DL4_KIND(Adam)

}  // namespace dl4::kinds
