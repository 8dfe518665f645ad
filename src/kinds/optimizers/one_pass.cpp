// Optimizers whose update is one elementwise rule.
#include "base/error.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

template <class How>
struct OnePass : Optimizer {
  How how;

  explicit OnePass(double rate = 0.001) : Optimizer(rate) {}
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
  }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

struct SGD : OnePass<ops::Sgd> {
  static constexpr const char *doc =
      "w -= learning_rate * g, with momentum m = momentum * m - learning_rate * g; w += m";

  SGD() : OnePass(0.01) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("momentum", how.momentum, "how much of the last step goes into this one").within(0, 1);
    f("nesterov", how.nesterov, "w += momentum * m - learning_rate * g; nothing without momentum");
  }
  SlotGroups slots(const Part &) const override {
    if (how.momentum == 0) return {};
    return {{{"momentum"}}};
  }
};

struct Adagrad : OnePass<ops::Adagrad> {
  static constexpr const char *doc = "sum of squares s: w -= learning_rate * g / sqrt(s + epsilon)";
  double start = 0.1;

  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("initial_accumulator_value", start, "s before the first update").at_least(0);
    f("epsilon", how.epsilon, "added to s, within the root").at_least(0);
  }
  SlotGroups slots(const Part &) const override { return {{{"accumulator", static_cast<float>(start)}}}; }
};

struct Adadelta : OnePass<ops::Adadelta> {
  static constexpr const char *doc =
      "running means a of g^2 and d of step^2: step = g * sqrt(d + epsilon) / sqrt(a + epsilon), w -= learning_rate * "
      "step";

  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("rho", how.rho, "decay of both means").within(0, 1);
    f("epsilon", how.epsilon, "added to both, within the roots").at_least(0);
  }
  SlotGroups slots(const Part &) const override { return {{{"accumulated_grad"}, {"accumulated_delta_var"}}}; }
};

struct RMSprop : OnePass<ops::RmsProp> {
  static constexpr const char *doc =
      "running mean v of g^2: w -= learning_rate * g / sqrt(v + epsilon). Gradients of an embedding's repeated ids are "
      "summed before they are squared";

  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("rho", how.rho, "decay of v").within(0, 1);
    f("momentum", how.momentum, "how much of the last step goes into this one").within(0, 1);
    f("epsilon", how.epsilon, "added to v, within the root").at_least(0);
    f("centered", how.centered, "v less the square of the running mean of g in the place of v");
  }
  SlotGroups slots(const Part &) const override {
    SlotGroups all{{{"velocity"}}};
    if (how.momentum > 0) all.push_back({{"momentum"}});
    if (how.centered) all.push_back({{"average_gradient"}});
    return all;
  }
};

struct Ftrl : OnePass<ops::Ftrl> {
  static constexpr const char *doc =
      "follow the regularized leader: sum of squares n and linear z, w = (clip(z, -l1, l1) - z) / (n^-power / "
      "learning_rate + 2 * l2)";
  double start = 0.1;

  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("learning_rate_power", how.power, "how the learning rate falls with n").at_most(0);
    f("initial_accumulator_value", start, "n before the first update").at_least(0);
    f("l1_regularization_strength", how.l1, "|z| up to which w is 0").at_least(0);
    f("l2_regularization_strength", how.l2, "penalty of w^2").at_least(0);
    f("l2_shrinkage_regularization_strength", how.l2_shrinkage, "penalty of w^2 that goes into z but not into n")
        .at_least(0);
    f("beta", how.beta, "added to the second penalty as beta / (2 * learning_rate)");
  }
  SlotGroups slots(const Part &) const override { return {{{"accumulator", static_cast<float>(start)}, {"linear"}}}; }
};

struct Lion : OnePass<ops::Lion> {
  static constexpr const char *doc =
      "w -= learning_rate * sign(beta_1 * m + (1 - beta_1) * g), then m = beta_2 * m + (1 - beta_2) * g";

  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1, "part of m in the step, above 0").within(0, 1);
    f("beta_2", how.beta_2, "decay of m").within(0, 1);
  }
  void check() override {
    OnePass::check();
    if (how.beta_1 == 0) refuse_attribute("beta_1", "expected above 0, got 0");
  }
  SlotGroups slots(const Part &) const override { return {{{"momentum"}}}; }
};

struct Adam : OnePass<ops::Adam> {
  static constexpr const char *doc =
      "running means m of g and v of g^2: w -= learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + "
      "epsilon). Gradients of an embedding's repeated ids are summed before they are squared, as in Keras on JAX and "
      "PyTorch";

  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1, "decay of m, below 1").within(0, 1);
    f("beta_2", how.beta_2, "decay of v, below 1").within(0, 1);
    f("epsilon", how.epsilon, "added to sqrt(v), not bias-corrected").at_least(0);
    f("amsgrad", how.amsgrad, "divide by the greatest v so far");
  }
  void check() override {
    OnePass::check();
    want_below_1("beta_1", how.beta_1);
    want_below_1("beta_2", how.beta_2);
  }
  SlotGroups slots(const Part &) const override {
    SlotGroups all{{{"momentum"}, {"velocity"}}};
    if (how.amsgrad) all.push_back({{"velocity_hat"}});
    return all;
  }
};

struct AdamW : Adam {
  static constexpr const char *doc = "Adam with a weight decay; what is not to decay is said to the trainer";
  AdamW() { weight_decay = 0.004; }
  void check() override {
    Adam::check();
    if (!weight_decay) fail(Code::invalid_argument, "\"weight_decay\": expected a number, got null");
  }
};

template <class How>
struct TwoMoments : OnePass<How> {
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", this->how.beta_1, "decay of m, below 1").within(0, 1);
    f("beta_2", this->how.beta_2, "decay of the other").within(0, 1);
    f("epsilon", this->how.epsilon, "added to what is divided by").at_least(0);
  }
  void check() override {
    OnePass<How>::check();
    want_below_1("beta_1", this->how.beta_1);
  }
};

struct Adamax : TwoMoments<ops::Adamax> {
  static constexpr const char *doc =
      "running mean m of g, u = max(beta_2 * u, |g|): w -= learning_rate / (1 - beta_1^t) * m / (u + epsilon)";
  SlotGroups slots(const Part &) const override { return {{{"momentum"}, {"norm"}}}; }
};

struct Nadam : TwoMoments<ops::Nadam> {
  static constexpr const char *doc =
      "Adam with Nesterov's momentum: mu = beta_1 * (1 - 0.96^t / 2), whose running product corrects m";
  void check() override {
    TwoMoments::check();
    want_below_1("beta_2", how.beta_2);
  }
  SlotGroups slots(const Part &) const override { return {{{"momentum"}, {"velocity"}}}; }
  std::vector<Slot> numbers() const override { return {{"u_product", 1}}; }
  ops::Id update(Update &u) const override {
    ops::Emit &e = u.e;
    const auto b1 = static_cast<float>(how.beta_1);
    ops::Id before = u.number(*this, "u_product");
    ops::Id power = binary(e, ops::Binary::pow, e.scalar(0.96), cast(e, u.t, DType::f32));
    ops::Id mu = sub(e, e.scalar(1), scale(e, power, 0.5f));
    ops::Id product = mul(e, scale(e, before, b1), mu);
    e.write(before, product);
    return u.one_pass(*this, how, product);
  }
};

}  // namespace
DL4_KINDS(one_pass, SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, Adamax, Nadam, Lion, Ftrl)
}  // namespace dl4::kinds
