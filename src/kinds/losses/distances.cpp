// Losses of vectors, regions and sequences: Huber and cosine similarity; Dice and Tversky, one minus the overlap of two
// regions; Circle; CTC.
#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "kinds/loss.hpp"
#include "kinds/metric.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary, ops::none;

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
