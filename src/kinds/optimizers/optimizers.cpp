// Optimizers whose update is one elementwise rule.
// Optimizers whose step looks at each weight as a whole.
#include <cctype>
#include <cmath>

#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;

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

Id root(Emit &e, Id v) { return unary(e, Unary::sqrt, v); }
Id rms(Emit &e, Id v) { return root(e, reduce(e, ops::Reduce::mean, unary(e, Unary::square, v), {})); }

struct Adafactor : Optimizer {
  static constexpr const char *doc =
      "of a weight with two axes or more the mean of g^2 is kept for rows and columns only; steps are as large as the "
      "weight asks for";
  double decay_of_v = -0.8, least_square = 1e-30, least_rms = 1e-3, threshold = 1;
  bool relative_step = true;

  Adafactor() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_2_decay", decay_of_v, "exponent: the mean keeps 1 - t^beta_2_decay of what it was");
    f("epsilon_1", least_square, "added to g^2").at_least(0);
    f("epsilon_2", least_rms, "least size of a weight, as a root mean square").at_least(0);
    f("clip_threshold", threshold, "greatest root mean square of a step, above 0").at_least(0);
    f("relative_step", relative_step,
      "the learning rate is at most 1 / sqrt(t); Keras bounds the step by that either way");
  }
  SlotGroups slots(const Part &p) const override {
    if (p.shape.rank() < 2) return {{{"", 0, Shape{}}, {"", 0, Shape{}}, {"velocity", 0, p.shape}}};
    return {{{"rows", 0, p.shape.without(-1)}, {"columns", 0, p.shape.without(-2)}, {"", 0, p.shape}}};
  }
  Id update(Update &u) const override {
    Emit &e = u.e;
    auto number = [&](double v) { return e.scalar(v); };
    Id t = cast(e, u.t, DType::f32), one = number(1);
    Id rate = binary(e, Binary::min, u.learning_rate, div(e, one, root(e, t)));
    Id keep = sub(e, one, binary(e, Binary::pow, t, number(decay_of_v))), rest = sub(e, one, keep);
    auto mean = [&](const Part &p, const char *slot, Id v) {
      Id before = u.slot(*this, p, slot);
      Id next = add(e, mul(e, keep, before), mul(e, rest, v));
      e.write(before, next);
      return next;
    };
    return u.by_weight(decay(), [&](const Part &p, Id w, Id g) {
      Id squares = add(e, unary(e, Unary::square, g), number(least_square)), v = ops::none;
      if (p.shape.rank() < 2) {
        v = mean(p, "velocity", squares);
      } else {
        auto over = [&](int axis) { return reduce(e, ops::Reduce::mean, squares, {axis}); };
        Id r = mean(p, "rows", over(-1)), c = mean(p, "columns", over(-2));
        Id part = div(e, r, reduce(e, ops::Reduce::mean, r, {-1}, true));
        v = mul(e, expand_dims(e, part, -1), expand_dims(e, c, -2));
      }
      Id step = div(e, g, root(e, v));
      Id too_large = binary(e, Binary::max, one, div(e, rms(e, step), number(threshold)));
      Id size = mul(e, binary(e, Binary::max, number(least_rms), rms(e, w)), rate);
      return sub(e, w, mul(e, size, div(e, step, too_large)));
    });
  }
};

struct Lamb : Optimizer {
  static constexpr const char *doc = "Adam's step s, scaled for each weight: w -= learning_rate * |w| / |s| * s";
  ops::Lamb how;

  Lamb() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_1", how.beta_1, "decay of the mean of g, below 1").within(0, 1);
    f("beta_2", how.beta_2, "decay of the mean of g^2, below 1").within(0, 1);
    f("epsilon", how.epsilon, "added to the root of the second").at_least(0);
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

struct Muon : Optimizer {
  static constexpr const char *doc =
      "a matrix moves by its momentum m = momentum * m + g (nesterov: g + momentum * m), whose singular values "
      "ns_steps of a Newton-Schulz iteration bring near 1, times sqrt(larger of its dims) * rms_rate; every weight "
      "that has not two axes, embeddings and excluded layers move as in AdamW";
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, a = 3.4445, b = -4.775, c = 2.0315, ratio = 1, momentum = 0.95;
  std::optional<double> adam_decay = 0.004, rms_rate = 0.2;
  std::optional<std::vector<std::string>> exclude_layers;
  bool exclude_embeddings = true, nesterov = true;
  int64_t steps = 5;

  Muon() : Optimizer(0.001) { weight_decay = 0.004; }
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("adam_beta_1", beta_1, "AdamW's decay of the mean of g, below 1").within(0, 1);
    f("adam_beta_2", beta_2, "AdamW's decay of the mean of g^2, below 1").within(0, 1);
    f("adam_weight_decay", adam_decay, "weight_decay of what AdamW moves").at_least(0);
    f("epsilon", epsilon, "AdamW's, added to the root").at_least(0);
    f("exclude_layers", exclude_layers,
      "words: a weight whose name \"layer/weight\" holds one is moved by AdamW; ^ before a word is the name's "
      "begin, $ behind it its end; other regular expressions are refused");
    f("exclude_embeddings", exclude_embeddings,
      "whether a weight with \"embedding\" in its name, in any case, is moved by AdamW");
    f("muon_a", a, "factor of X in the iteration X = a * X + (b * A + c * A^2) * X, A = X * X^T");
    f("muon_b", b, "factor of A");
    f("muon_c", c, "factor of A^2");
    f("adam_lr_ratio", ratio, "AdamW's learning rate is learning_rate times this").at_least(0);
    f("momentum", momentum, "how much of m stays").within(0, 1);
    f("ns_steps", steps, "iterations").within(0, 100);
    f("nesterov", nesterov, "look ahead along m");
    f("rms_rate", rms_rate, "factor of a step; null: and without the root of the larger dim");
  }
  void check() override {
    Optimizer::check();
    want_below_1("adam_beta_1", beta_1);
    want_below_1("adam_beta_2", beta_2);
    if (!exclude_layers) exclude_layers.emplace();
    for (const std::string &word : *exclude_layers)
      if (inside(word).find_first_of("\\^$.|?*+()[]{}") != std::string::npos)
        unsupported_attribute("exclude_layers", "regular expressions are not supported, got ", Json(word).shown(),
                              "; only ^ before a word and $ behind it are");
  }

  SlotGroups slots(const Part &p) const override {
    std::vector<Slot> own{{"momentum", 0, p.shape}};
    if (adam(p)) own.push_back({"velocity", 0, p.shape});
    return {own};
  }
  Id update(Update &u) const override {
    Emit &e = u.e;
    const Id t = cast(e, u.t, DType::f32), one = e.scalar(1);
    const auto rest = [&](double beta) { return sub(e, one, binary(e, Binary::pow, e.scalar(beta), t)); };
    const Id adam_rate =
        div(e, mul(e, scaled(e, u.learning_rate, ratio), unary(e, Unary::sqrt, rest(beta_2))), rest(beta_1));
    return u.by_weight(0, [&](const Part &p, Id w, Id g) {
      const bool by_adam = adam(p);
      const double decay = (by_adam ? adam_decay : weight_decay).value_or(0);
      if (decay != 0 && p.decays) w = sub(e, w, mul(e, scaled(e, w, decay), u.learning_rate));
      const Id m = u.slot(*this, p, "momentum");
      return sub(e, w, by_adam ? adam_step(u, p, m, g, adam_rate) : matrix_step(u, p, m, g));
    });
  }

 private:
  static Id scaled(Emit &e, Id x, double by) { return mul(e, x, e.scalar(by)); }
  // The word without anchors.
  static std::string inside(std::string word) {
    if (word.starts_with('^')) word.erase(0, 1);
    if (word.ends_with('$')) word.pop_back();
    return word;
  }
  static bool matches(const std::string &word, const std::string &weight) {
    const bool begin = word.starts_with('^'), end = word.ends_with('$');
    const std::string middle = inside(word);
    if (begin && end) return weight == middle;
    if (begin) return weight.starts_with(middle);
    if (end) return weight.ends_with(middle);
    return weight.find(middle) != std::string::npos;
  }
  bool adam(const Part &p) const {
    if (p.shape.rank() != 2) return true;
    std::string lower = p.name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char x) { return std::tolower(x); });
    if (exclude_embeddings && lower.find("embedding") != std::string::npos) return true;
    return std::any_of(exclude_layers->begin(), exclude_layers->end(),
                       [&](const std::string &word) { return matches(word, p.name); });
  }

  Id adam_step(Update &u, const Part &p, Id m, Id g, Id rate) const {
    Emit &e = u.e;
    const auto towards = [&](Id mean, Id v, double beta) {
      const Id next = add(e, mean, scaled(e, sub(e, v, mean), 1 - beta));
      e.write(mean, next);
      return next;
    };
    const Id mean = towards(m, g, beta_1);
    const Id square = towards(u.slot(*this, p, "velocity"), unary(e, Unary::square, g), beta_2);
    return div(e, mul(e, mean, rate), add(e, unary(e, Unary::sqrt, square), e.scalar(epsilon)));
  }

  Id matrix_step(Update &u, const Part &p, Id m, Id g) const {
    Emit &e = u.e;
    const Id next = add(e, m, add(e, g, scaled(e, m, momentum - 1)));
    e.write(m, next);
    const bool tall = p.shape[0] > p.shape[1];
    Id x = nesterov ? add(e, g, scaled(e, next, momentum)) : next;
    if (tall) x = ops::transpose(e, x, {1, 0});
    const Id norm = unary(e, Unary::sqrt, ops::square_sum(e, x));
    x = div(e, x, add(e, norm, e.scalar(1e-7)));
    for (int64_t i = 0; i < steps; ++i) {
      const Id square = ops::matmul(e, x, x, {.transpose_b = true});
      const Id by = add(e, scaled(e, square, b), ops::matmul(e, scaled(e, square, c), square));
      x = add(e, scaled(e, x, a), ops::matmul(e, by, x));
    }
    if (tall) x = ops::transpose(e, x, {1, 0});
    x = mul(e, x, u.learning_rate);
    const auto larger = static_cast<double>(std::max(p.shape[0], p.shape[1]));
    return rms_rate ? scaled(e, x, std::sqrt(larger) * *rms_rate) : x;
  }
};

}  // namespace

DL4_KINDS(one_pass, SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, Adamax, Nadam, Lion, Ftrl)
DL4_KINDS(by_weight, Lamb, Adafactor, Muon)

}  // namespace dl4::kinds
