// Adafactor.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;

Id root(Emit &e, Id v) { return unary(e, Unary::sqrt, v); }
Id rms(Emit &e, Id v) { return root(e, reduce(e, ops::Reduce::mean, unary(e, Unary::square, v), {})); }

struct Adafactor : Optimizer {
  static constexpr const char *name = "Adafactor";
  static constexpr const char *doc =
      "of a weight with two axes or more the mean of g^2 is kept for rows and columns only; steps are as large as the "
      "weight asks for";
  double decay_of_v = -0.8, least_square = 1e-30, least_rms = 1e-3, threshold = 1;
  bool relative_step = true;

  Adafactor() : Optimizer(0.001) {}
  void fields(Fields &f) override {
    Optimizer::fields(f);
    f("beta_2_decay", decay_of_v).doc("exponent: the mean keeps 1 - t^beta_2_decay of what it was");
    f("epsilon_1", least_square).at_least(0).doc("added to g^2");
    f("epsilon_2", least_rms).at_least(0).doc("least size of a weight, as a root mean square");
    f("clip_threshold", threshold).at_least(0).doc("greatest root mean square of a step, above 0");
    f("relative_step", relative_step)
        .doc("the learning rate is at most 1 / sqrt(t); Keras bounds the step by that either way");
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

}  // namespace

DL4_KIND(Adafactor)

}  // namespace dl4::kinds
