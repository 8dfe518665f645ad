// FBetaScore and F1Score.
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "kinds/layers/core/masks.hpp"
#include "kinds/metric.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::none, ops::Reduce;

class FScore : public Metric {
 public:
  void fields(Fields &f) override {
    Metric::fields(f);
    f("average", average, {"micro", "macro", "weighted"})
        .null_means(Average::none)
        .doc("of the classes: counts together, mean, mean by their targets; null: a number for each class");
    f("threshold", threshold)
        .at_least(0)
        .at_most(1)
        .doc("predictions above it say 1; null: the largest of each sample does");
  }
  void check() override {
    if (threshold == 0.0) refuse_attribute("threshold", "expected more than 0, got 0");
  }
  Size size(const Shape &prediction) const override {
    const int64_t n = average == Average::micro ? 1 : classes(prediction);
    return {checked_mul(3, n), average == Average::none ? n : 1};
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    classes(e.shape(p));
    Id said = cast(e, is_said(e, p), DType::f32);
    Id weight = sample_weight == none ? none : leading(e, cast(e, sample_weight, DType::f32), p, "sample weights");
    auto sum = [&, axes = average == Average::micro ? std::vector<int>() : std::vector<int>{0}](Id v) {
      return reduce(e, Reduce::sum, weight == none ? v : mul(e, v, weight), axes);
    };
    auto rest = [&](Id x) { return unary(e, ops::Unary::scale_shift, x, {-1, 1}); };
    return {sum(mul(e, said, t)), sum(mul(e, said, rest(t))), sum(mul(e, rest(said), t))};
  }
  void result(std::span<const double> sums, std::span<double> to) const override {
    constexpr double epsilon = 1e-7;
    const size_t n = sums.size() / 3;
    double targets = epsilon, total = 0;
    for (size_t i = 0; i < n; ++i) targets += sums[i] + sums[2 * n + i];
    for (size_t i = 0; i < n; ++i) {
      const double hits = sums[i], precision = hits / (hits + sums[n + i] + epsilon);
      const double recall = hits / (hits + sums[2 * n + i] + epsilon);
      const double score = (1 + beta * beta) * precision * recall / (beta * beta * precision + recall + epsilon);
      if (average == Average::none) to[i] = score;
      total +=
          average == Average::weighted ? score * (hits + sums[2 * n + i]) / targets : score / static_cast<double>(n);
    }
    if (average != Average::none) to[0] = total;
  }

 protected:
  double beta = 1;

 private:
  static int64_t classes(const Shape &p) {
    if (p.rank() != 2 || p.last() == free_dim) fail(Code::shape_mismatch, "expected predictions (B, classes), got ", p);
    return p.last();
  }
  Id is_said(Emit &e, Id p) const {
    if (threshold) return binary(e, Binary::greater, p, e.scalar(*threshold));
    Id largest = binary(e, Binary::greater_equal, p, reduce(e, Reduce::max, p, {-1}, true));
    return both(e, largest, binary(e, Binary::greater, unary(e, ops::Unary::abs, p), e.scalar(1e-9)));
  }

  enum class Average { micro, macro, weighted, none };
  Average average = Average::none;
  std::optional<double> threshold;
};

struct F1Score final : FScore {
  static constexpr const char *doc = "harmonic mean of precision and recall; targets are one-hot or 0 and 1";
};

struct FBetaScore final : FScore {
  static constexpr const char *doc =
      "(1 + beta^2) * precision * recall / (beta^2 * precision + recall); targets are one-hot or 0 and 1";
  void fields(Fields &f) override {
    FScore::fields(f);
    f("beta", beta).at_least(0).doc("above 1 recall counts more, below 1 precision");
  }
  void check() override {
    FScore::check();
    if (beta == 0) refuse_attribute("beta", "expected more than 0, got 0");
  }
  std::string usual_name() const override { return "fbeta_score"; }
};

}  // namespace

DL4_KINDS(f_score, F1Score, FBetaScore)

}  // namespace dl4::kinds
