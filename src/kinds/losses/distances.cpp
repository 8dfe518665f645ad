// Losses without attributes of their own: a row each.
// Losses of vectors, regions and sequences: Huber and cosine similarity; Dice and Tversky, one minus the overlap of two
// regions; Circle; CTC.
#include <functional>

#include "kinds/loss.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

// t, p: targets and predictions of equal shape, float32.
Id last_mean(Emit &e, Id v) { return reduce(e, Reduce::mean, v, {-1}); }

Id squared_error(Emit &e, Id t, Id p) { return last_mean(e, binary(e, Binary::squared_difference, t, p)); }
Id absolute_error(Emit &e, Id t, Id p) { return last_mean(e, unary(e, Unary::abs, sub(e, t, p))); }

Id percentage_error(Emit &e, Id t, Id p) {
  Id base = binary(e, Binary::max, unary(e, Unary::abs, t), e.scalar(1e-7f));
  Id part = unary(e, Unary::abs, div(e, sub(e, t, p), base));
  return scale(e, last_mean(e, part), 100);
}

Id logarithmic_error(Emit &e, Id t, Id p) {
  auto log = [&](Id x) { return unary(e, Unary::log1p, binary(e, Binary::max, x, e.scalar(1e-7f))); };
  Id p_log = log(p);
  return last_mean(e, binary(e, Binary::squared_difference, p_log, log(t)));
}

Id log_cosh(Emit &e, Id t, Id p) {
  Id error = sub(e, p, t);
  Id v = add(e, error, unary(e, Unary::softplus, scale(e, error, -2)));
  return last_mean(e, sub(e, v, e.scalar(0.69314718f)));
}

Id kl_divergence(Emit &e, Id t, Id p) {
  t = unary(e, Unary::clip, t, {1e-7f, 1});
  p = unary(e, Unary::clip, p, {1e-7f, 1});
  return reduce(e, Reduce::sum, mul(e, t, unary(e, Unary::log, div(e, t, p))), {-1});
}

Id poisson(Emit &e, Id t, Id p) {
  Id log = unary(e, Unary::log, add(e, p, e.scalar(1e-7f)));
  return last_mean(e, sub(e, p, mul(e, t, log)));
}

// max(1 - t * p, 0); targets that are all 0 or 1 are mapped to -1 and 1 first.
Id margin(Emit &e, Id t, Id p) {
  Id zero = e.scalar(0), one = e.scalar(1);
  Id known = binary(e, Binary::logical_or, binary(e, Binary::equal, t, zero), binary(e, Binary::equal, t, one));
  Id all = reduce(e, Reduce::min, known, {});
  t = select(e, all, unary(e, Unary::scale_shift, t, {2, -1}), t);
  return binary(e, Binary::max, sub(e, one, mul(e, t, p)), zero);
}
Id hinge(Emit &e, Id t, Id p) { return last_mean(e, margin(e, t, p)); }
Id squared_hinge(Emit &e, Id t, Id p) { return last_mean(e, unary(e, Unary::square, margin(e, t, p))); }

Id categorical_hinge(Emit &e, Id t, Id p) {
  Id right = reduce(e, Reduce::sum, mul(e, t, p), {-1});
  Id wrong = reduce(e, Reduce::max, mul(e, unary(e, Unary::scale_shift, t, {-1, 1}), p), {-1});
  Id margin = add(e, sub(e, wrong, right), e.scalar(1));
  return binary(e, Binary::max, margin, e.scalar(0));
}

struct PlainLoss final : Loss {
  struct Row : Entry {
    Id (*values)(Emit &, Id t, Id p);
  };

  explicit PlainLoss(const Row &row) : row(row) {}
  const Row &row;

  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {row.values(e, t, p), ops::none};
  }
};

constexpr PlainLoss::Row loss(const char *name, std::array<Words, 2> aliases, const char *doc,
                              Id (*values)(Emit &, Id t, Id p)) {
  return {{"loss", name, doc, fresh<PlainLoss>, aliases}, values};
}
constexpr PlainLoss::Row losses[] = {
    loss("MeanSquaredError", {"mse"}, "(y_true - y_pred)^2, averaged over the last axis", squared_error),
    loss("MeanAbsoluteError", {"mae"}, "|y_true - y_pred|, averaged over the last axis", absolute_error),
    loss("MeanAbsolutePercentageError", {"mape"},
         "100 * |y_true - y_pred| / max(|y_true|, 1e-7), averaged over the last axis", percentage_error),
    loss("MeanSquaredLogarithmicError", {"msle"},
         "(log(y_true + 1) - log(y_pred + 1))^2, both at least 1e-7, averaged over the last axis", logarithmic_error),
    loss("LogCosh", {}, "log(cosh(y_pred - y_true)), averaged over the last axis", log_cosh),
    loss("KLDivergence", {"kld", "kullback_leibler_divergence"},
         "sum over the last axis of y_true * log(y_true / y_pred), both clipped to [1e-7, 1]", kl_divergence),
    loss("Poisson", {}, "y_pred - y_true * log(y_pred + 1e-7), averaged over the last axis", poisson),
    loss("Hinge", {}, "max(1 - y_true * y_pred, 0), averaged over the last axis; targets 0 and 1 become -1 and 1",
         hinge),
    loss("SquaredHinge", {},
         "max(1 - y_true * y_pred, 0)^2, averaged over the last axis; targets 0 and 1 become -1 and 1", squared_hinge),
    loss("CategoricalHinge", {},
         "max(1 + the largest y_pred of the wrong classes - that of the right one, 0); y_true is one-hot",
         categorical_hinge),
};

}  // namespace

void list_plain(Entries &all) {
  for (const PlainLoss::Row &row : losses) {
    list(all, row);
    if (row.values == log_cosh)
      list(all, kept(std::make_unique<MeanOfLoss>(row, "logcosh", "LogCoshError")));
    else
      list_mean(all, row);
  }
}

namespace {

using ops::none;

struct Huber : Loss {
  static constexpr const char *doc =
      "0.5 * e^2 where |e| = |y_pred - y_true| <= delta, else delta * |e| - 0.5 * delta^2, averaged over the last axis";
  double delta = 1;

  void fields(Fields &f) override {
    f("delta", delta, "where the square ends; the slope beyond").at_least(0);
    Loss::fields(f);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    auto d = static_cast<float>(delta);
    Id size = unary(e, Unary::abs, sub(e, p, t));
    Id inner = scale(e, unary(e, Unary::square, size), 0.5f);
    Id outer = unary(e, Unary::scale_shift, size, {d, -0.5f * d * d});
    Id v = select(e, binary(e, Binary::less_equal, size, e.scalar(d)), inner, outer);
    return {reduce(e, Reduce::mean, v, {-1}), none};
  }
};

struct CosineSimilarity : Loss {
  static constexpr bool has_mean = false;
  static constexpr const char *doc = "minus the cosine of the angle between y_true and y_pred along the axis";
  int64_t axis = -1;

  void fields(Fields &f) override {
    f("axis", axis, "axis of the vectors");
    Loss::fields(f);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    int at = e.shape(p).axis(axis);
    Id product = mul(e, normalised(e, t, {at}), normalised(e, p, {at}));
    return {unary(e, Unary::neg, reduce(e, Reduce::sum, product, {at})), none};
  }
};

struct CosineSimilarityMetric : MeanMetric {
  static constexpr const char *name = "CosineSimilarity";
  static constexpr const char *doc = "mean cosine of the angle between y_true and y_pred along the axis";
  int64_t axis = -1;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("axis", axis, "axis of the vectors");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    int at = e.shape(p).axis(axis);
    return {reduce(e, Reduce::sum, mul(e, normalised(e, t, {at}), normalised(e, p, {at})), {at}), none};
  }
};

class Overlap : public Loss {
 public:
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    std::vector<int> axes;
    if (axis)
      for (int64_t i : *axis) axes.push_back(e.shape(p).axis(i));
    auto sum = [&](Id v) { return reduce(e, Reduce::sum, v, axes); };
    return {unary(e, Unary::scale_shift, overlap(e, t, p, sum(mul(e, t, p)), sum), {-1, 1}), none};
  }
  bool joins_samples(int rank) const override {
    return !axis || std::any_of(axis->begin(), axis->end(), [&](int64_t i) { return i == 0 || i == -rank; });
  }
  void check() override {
    if (!axis || !axis->empty()) return;
    refuse_attribute("axis", "expected null or at least one axis, got []");
  }

 protected:
  using Sum = std::function<Id(Id)>;
  // 1 for equal regions; `both`: sum over their intersection.
  virtual Id overlap(Emit &e, Id t, Id p, Id both, const Sum &sum) const = 0;
  void axis_field(Fields &f) { f("axis", axis, "axes of a region; null: all, the batch too, as one region"); }

 private:
  std::optional<std::vector<int64_t>> axis;
};

Id safe(Emit &e, Id v) { return add(e, v, e.scalar(1e-7f)); }

struct Dice : Overlap {
  static constexpr const char *doc = "1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred)) over the axes";

  void fields(Fields &f) override {
    axis_field(f);
    Loss::fields(f);
  }
  Id overlap(Emit &e, Id t, Id p, Id both, const Sum &sum) const override {
    return div(e, scale(e, both, 2), safe(e, add(e, sum(t), sum(p))));
  }
};

struct Tversky : Overlap {
  static constexpr const char *doc =
      "1 - b / (b + alpha * sum(y_true * (1 - y_pred)) + beta * sum((1 - y_true) * y_pred)), b = sum(y_true * y_pred), "
      "over the axes";
  double alpha = 0.5, beta = 0.5;

  void fields(Fields &f) override {
    f("alpha", alpha, "weight of what is missed");
    f("beta", beta, "weight of what is too much");
    axis_field(f);
    Loss::fields(f);
  }
  Id overlap(Emit &e, Id t, Id p, Id both, const Sum &sum) const override {
    auto rest = [&](Id x) { return unary(e, Unary::scale_shift, x, {-1, 1}); };
    Id missed = scale(e, sum(mul(e, rest(p), t)), static_cast<float>(alpha));
    Id too_much = scale(e, sum(mul(e, p, rest(t))), static_cast<float>(beta));
    return div(e, both, safe(e, add(e, add(e, both, missed), too_much)));
  }
};

Id not_(Emit &e, Id flags) { return binary(e, Binary::equal, flags, e.scalar(0, DType::boolean)); }

// log(sum(exp(x))) of each row over the elements that count; -infinity if none do.
Id log_sum_exp(Emit &e, Id x, Id counts) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  x = select(e, counts, x, e.scalar(-infinity));
  Id largest = reduce(e, Reduce::max, x, {1}, true);
  largest = select(e, binary(e, Binary::greater, largest, e.scalar(-infinity)), largest, e.scalar(0));
  Id sum = reduce(e, Reduce::sum, unary(e, Unary::exp, sub(e, x, largest)), {1});
  return add(e, unary(e, Unary::log, sum), squeeze(e, largest, 1));
}

struct Circle : Loss {
  static constexpr const char *doc =
      "of embeddings (B, E) of length 1 and class numbers: draws those of one class together and others apart; a "
      "sample without another of its class, or without one of another class, does not count";
  double gamma = 80, margin = 0.4;
  bool remove_diagonal = true;

  void fields(Fields &f) override {
    f("gamma", gamma, "scale of the distances");
    f("margin", margin, "how far apart, in cosine distance");
    f("remove_diagonal", remove_diagonal, "a sample is no partner of itself");
    Loss::fields(f);
  }
  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override { return prediction.first(1); }
  bool joins_samples(int) const override { return true; }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    if (e.rank(y_pred) != 2)
      fail(Code::shape_mismatch, "predictions have shape ", e.shape(y_pred), ", expected embeddings (B, E)");
    Id labels = class_numbers(e, y_true, y_pred), p = cast(e, y_pred, DType::f32);
    if (DType t = e.dtype(labels); t != DType::i32 && t != DType::i64) labels = cast(e, labels, DType::i32);
    Id distance = sub(e, e.scalar(1), matmul(e, p, p, {.transpose_b = true}));
    distance = binary(e, Binary::max, distance, e.scalar(0));
    Id like = binary(e, Binary::equal, expand_dims(e, labels, 1), expand_dims(e, labels, 0)), unlike = not_(e, like);
    if (remove_diagonal) {
      Id before = causal_mask(e, distance);  // at and before the diagonal
      like = binary(e, Binary::logical_and, like,
                    not_(e, binary(e, Binary::logical_and, before, transpose(e, before, {1, 0}))));
    }
    const auto m = static_cast<float>(margin), g = static_cast<float>(gamma);
    auto at_least_0 = [&](Id x) { return binary(e, Binary::max, x, e.scalar(0)); };
    auto shifted = [&](float by, float shift) { return unary(e, Unary::scale_shift, distance, {by, shift}); };
    Id near = scale(e, mul(e, at_least_0(shifted(1, m)), shifted(-1, m)), -g);
    Id far = scale(e, mul(e, at_least_0(shifted(-1, 1 + m)), shifted(-1, 1 - m)), g);
    Id v = unary(e, Unary::softplus, add(e, log_sum_exp(e, near, like), log_sum_exp(e, far, unlike)));
    return {v, binary(e, Binary::greater, v, e.scalar(0))};
  }
};

struct CTC : Loss {
  static constexpr bool has_mean = false;
  static constexpr const char *doc =
      "connectionist temporal classification: minus the logarithm of the probability that the classes of the steps, "
      "predicted before a softmax as (B, T, C), are the labels (B, L) once repetitions and then class 0 are left out. "
      "Labels are integers from 1; 0 fills up their end; one outside the classes stops the run. All T steps count. "
      "Labels that need more steps than there are cost about 707, as in Keras, not infinity";

  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override {
    if (prediction.rank() != 3)
      fail(Code::shape_mismatch, "predictions have shape ", prediction, ", expected (batch, steps, classes)");
    return {prediction[0], free_dim};
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    const Shape t = e.shape(y_true), p = e.shape(y_pred);
    if (p.rank() != 3) fail(Code::shape_mismatch, "predictions have shape ", p, ", expected (batch, steps, classes)");
    if (t.rank() != 2 || !compatible(t.first(1), p.first(1)))
      fail(Code::shape_mismatch, "targets have shape ", t, ", expected labels (batch, length) for predictions ", p);
    return {ops::ctc(e, cast(e, y_pred, DType::f32), cast(e, y_true, DType::i32))};
  }
};

}  // namespace

DL4_KINDS(distances, Huber, CosineSimilarity, CosineSimilarityMetric, Dice, Tversky, Circle, CTC)

}  // namespace dl4::kinds
