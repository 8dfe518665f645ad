// RootMeanSquaredError, R2Score, correlations, and the mean and sum of predictions.
#include <cmath>
#include <optional>

#include "kinds/metric.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::none, ops::Reduce, ops::Unary;

struct RootMeanSquaredError : Metric {
  static constexpr const char *doc = "square root of the mean of (y_true - y_pred)^2 over all batches";
  std::optional<bool> rises() const override { return false; }
  Size size(const Shape &) const override { return {2, 1}; }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return sums_of_mean(e, {binary(e, Binary::squared_difference, p, t), none}, sample_weight, none);
  }
  void result(std::span<const double> sums, std::span<double> to) const override {
    to[0] = std::sqrt(quotient(sums[0], sums[1]));
  }
};

struct R2Score : Metric {
  static constexpr const char *doc = "1 - squared error / variance of the targets, of predictions (B, outputs)";
  enum class Aggregation { uniform_average, variance_weighted_average, none };
  Aggregation class_aggregation = Aggregation::uniform_average;
  int64_t num_regressors = 0;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("class_aggregation", class_aggregation, {"uniform_average", "variance_weighted_average"},
      "of the outputs: their mean, the same by their variances; null: a number for each")
        .null_means(Aggregation::none);
    f("num_regressors", num_regressors, "inputs of the model, to adjust for; 0: not adjusted").at_least(0);
  }
  Size size(const Shape &prediction) const override {
    const int64_t n = outputs(prediction);
    return {checked_add(checked_mul(4, n), 1), class_aggregation == Aggregation::none ? n : 1};
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    outputs(e.shape(p));
    Id ones = all_ones(e, p), weight = ones;
    if (sample_weight != none)
      weight = mul(e, ones, leading(e, cast(e, sample_weight, DType::f32), p, "sample weights"));
    auto sum = [&](Id v) { return reduce(e, Reduce::sum, v, {0}); };
    Id weighted = mul(e, t, weight);
    return {sum(weighted), sum(mul(e, t, weighted)), sum(mul(e, binary(e, Binary::squared_difference, t, p), weight)),
            sum(weight), reduce(e, Reduce::sum, ones, {})};
  }
  void result(std::span<const double> sums, std::span<double> to) const override {
    const size_t n = sums.size() / 4;
    double scores = 0, weighted = 0, spread = 0;
    for (size_t i = 0; i < n; ++i) {
      const double total = sums[n + i] - sums[i] * sums[i] / sums[3 * n + i];
      double score = 1 - sums[2 * n + i] / total;
      if (std::isinf(score)) score = 0;
      scores += score;
      weighted += total * score;
      spread += total;
      if (class_aggregation == Aggregation::none) to[i] = score;
    }
    if (class_aggregation == Aggregation::uniform_average) to[0] = scores / static_cast<double>(n);
    if (class_aggregation == Aggregation::variance_weighted_average) to[0] = weighted / spread;
    for (double &score : to) score = adjusted(score, sums.back());
  }

 private:
  static int64_t outputs(const Shape &p) {
    if (p.rank() != 2 || p.last() == free_dim || p.last() == 0)
      fail(Code::shape_mismatch, "expected predictions (B, outputs), got ", p);
    return p.last();
  }
  // Keras counts the values of all outputs as samples, and does not adjust if there are too few.
  double adjusted(double score, double samples) const {
    const auto p = static_cast<double>(num_regressors);
    return p == 0 || p >= samples - 1 ? score : 1 - (1 - score) * (samples - 1) / (samples - p - 1);
  }
};

struct Correlation : MeanMetric {
  int64_t axis = -1;
  void fields(Fields &f) override {
    Metric::fields(f);
    f("axis", axis, "axis of the numbers that are compared");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    const int at = e.shape(p).axis(axis);
    return {reduce(e, Reduce::mean, products(e, t, p, at), {at}), none};
  }
  virtual Id products(Emit &e, Id t, Id p, int at) const = 0;
};

Id mean_over(Emit &e, Id x, int at) { return reduce(e, Reduce::mean, x, {at}, true); }
Id variance(Emit &e, Id deviation, int at) { return mean_over(e, unary(e, Unary::square, deviation), at); }

struct PearsonCorrelation final : Correlation {
  static constexpr const char *doc = "mean over samples of the correlation of y_true and y_pred along the axis";
  Id products(Emit &e, Id t, Id p, int at) const override {
    auto normal = [&](Id x) {
      Id deviation = sub(e, x, mean_over(e, x, at));
      return div(e, deviation, unary(e, Unary::sqrt, variance(e, deviation, at)));
    };
    return mul(e, normal(t), normal(p));
  }
};

struct ConcordanceCorrelation final : Correlation {
  static constexpr const char *doc = "mean over samples of the concordance of y_true and y_pred along the axis";
  Id products(Emit &e, Id t, Id p, int at) const override {
    Id t_mean = mean_over(e, t, at), p_mean = mean_over(e, p, at), deviation = sub(e, p, p_mean);
    Id spread = add(e, variance(e, sub(e, t, t_mean), at), variance(e, deviation, at));
    Id norm = add(e, spread, binary(e, Binary::squared_difference, t_mean, p_mean));
    // Keras subtracts the predictions' mean from the targets too; the mean of the products is the same.
    Id together = mul(e, sub(e, t, p_mean), deviation);
    return div(e, scale(e, together, 2), add(e, norm, e.scalar(1e-7)));
  }
};

struct Mean final : MeanMetric {
  static constexpr const char *doc = "mean of the predictions; targets are not looked at";
  std::optional<bool> rises() const override { return std::nullopt; }
  Items items(Emit &e, Id, Id y_pred) const override { return {cast(e, y_pred, DType::f32), none}; }
};

struct Sum final : Metric {
  static constexpr const char *doc = "sum of the predictions; targets are not looked at";
  std::optional<bool> rises() const override { return std::nullopt; }
  Size size(const Shape &) const override { return {1, 1}; }
  std::vector<Id> sums(Emit &e, Id, Id y_pred, Id sample_weight, Id) const override {
    Id v = cast(e, y_pred, DType::f32);
    if (sample_weight != none) v = mul(e, v, leading(e, cast(e, sample_weight, DType::f32), v, "sample weights"));
    return {reduce(e, Reduce::sum, v, {})};
  }
  void result(std::span<const double> sums, std::span<double> to) const override { to[0] = sums[0]; }
};

}  // namespace

DL4_KINDS(regression, RootMeanSquaredError, R2Score, PearsonCorrelation, ConcordanceCorrelation, Mean, Sum)

}  // namespace dl4::kinds
