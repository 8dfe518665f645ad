// Adamax and Nadam.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

template <class How>
struct TwoMoments : Optimizer {
  How how;

  TwoMoments() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1).at_least(0).at_most(1).doc("decay of m, below 1");
    f("beta_2", how.beta_2).at_least(0).at_most(1).doc("decay of the other");
    f("epsilon", how.epsilon).at_least(0).doc("added to what is divided by");
  }
  void check() override {
    Optimizer::check();
    how.weight_decay = decay();
    want_below_1("beta_1", how.beta_1);
  }
};

struct Adamax : TwoMoments<ops::Adamax> {
  static constexpr const char *name = "Adamax";
  static constexpr const char *doc =
      "running mean m of g, u = max(beta_2 * u, |g|): w -= learning_rate / (1 - beta_1^t) * m / (u + epsilon)";
  SlotGroups slots(const Part &) const override { return {{{"momentum"}, {"norm"}}}; }
  ops::Id update(Update &u) const override { return u.one_pass(*this, how); }
};

struct Nadam : TwoMoments<ops::Nadam> {
  static constexpr const char *name = "Nadam";
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

DL4_KIND(Adamax)
DL4_KIND(Nadam)

}  // namespace dl4::kinds
