// Metrics of classes: accuracies, F-scores and intersections over unions.
// RootMeanSquaredError, R2Score, correlations, and the mean and sum of predictions.
#include <cmath>

#include "kinds/layers/core/masks.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::none, ops::Unary;

Id as_float(Emit &e, Id flags) { return cast(e, flags, DType::f32); }

Id binary_matches(Emit &e, Id y_true, Id y_pred, float threshold) {
  auto [t, p] = matched(e, y_true, y_pred);
  return as_float(e, binary(e, Binary::equal, t, as_float(e, binary(e, Binary::greater, p, e.scalar(threshold)))));
}

Id categorical_matches(Emit &e, Id y_true, Id y_pred) {
  auto [t, p] = matched(e, y_true, y_pred);
  return as_float(e, binary(e, Binary::equal, argmax(e, t, -1), argmax(e, p, -1)));
}

Id sparse_matches(Emit &e, Id y_true, Id y_pred) {
  Id labels = class_numbers(e, y_true, y_pred);
  DType t = e.dtype(labels);
  if (t == DType::u8 || t == DType::boolean) labels = cast(e, labels, t = DType::i32);
  return as_float(e, binary(e, Binary::equal, labels, cast(e, argmax(e, y_pred, -1), t)));
}

// labels: class indices. Whether the class is among the k largest predictions; equal values count as larger.
Id top_k_matches(Emit &e, Id labels, Id y_pred, int64_t k) {
  Id rows = reshape(e, y_pred, 0, {free_dim, e.shape(y_pred).last()});
  Id own = pick(e, rows, reshape(e, labels, 0, {free_dim}));
  Id larger = as_float(e, binary(e, Binary::greater, rows, expand_dims(e, own, 1)));
  Id among = binary(e, Binary::less, reduce(e, ops::Reduce::sum, larger, {1}), e.scalar(static_cast<float>(k)));
  Id finite = binary(e, Binary::less, unary(e, ops::Unary::abs, own), e.scalar(std::numeric_limits<float>::infinity()));
  return reshape_like(e, as_float(e, binary(e, Binary::logical_and, among, finite)), labels);
}

// Whether the class is one of the first k ids of its row.
Id among_first(Emit &e, Id labels, Id ids, int64_t k) {
  const int64_t width = e.shape(ids).last();
  Id first = width == free_dim || width > k ? slice(e, ids, -1, 0, k) : ids;
  Id equal = binary(e, Binary::equal, expand_dims(e, as_float(e, labels), e.rank(labels)), as_float(e, first));
  return as_float(e, reduce(e, ops::Reduce::max, equal, {-1}));
}

struct Accuracy : MeanMetric {
  static constexpr const char *doc =
      "share of predictions that equal their targets; the words \"accuracy\" and \"acc\" in a trainer's metrics mean "
      "by_shape";
  bool by_shape = false;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("by_shape", by_shape,
      "be BinaryAccuracy for one output a sample, SparseCategoricalAccuracy for "
      "class numbers, else CategoricalAccuracy");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    if (!by_shape) {
      auto [t, p] = matched(e, y_true, y_pred);
      return {cast(e, binary(e, ops::Binary::equal, t, p), DType::f32), ops::none};
    }
    switch (targets_for(e.shape(y_true), e.shape(y_pred))) {
      case Targets::binary:
        return {binary_matches(e, y_true, y_pred, 0.5f), ops::none};
      case Targets::sparse:
        return {sparse_matches(e, y_true, y_pred), ops::none};
      case Targets::categorical:
        break;
    }
    return {categorical_matches(e, y_true, y_pred), ops::none};
  }
};

struct BinaryAccuracy : MeanMetric {
  static constexpr const char *doc = "share of predictions that lie above the threshold exactly where the target is 1";
  double threshold = 0.5;
  void fields(Fields &f) override {
    Metric::fields(f);
    f("threshold", threshold, "predictions above it say 1");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return {binary_matches(e, y_true, y_pred, static_cast<float>(threshold)), ops::none};
  }
};

struct CategoricalAccuracy : MeanMetric {
  static constexpr const char *doc = "share of samples whose largest prediction is at the largest target";
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return {categorical_matches(e, y_true, y_pred), ops::none};
  }
};

struct SparseCategoricalAccuracy : MeanMetric {
  static constexpr const char *doc = "share of samples whose largest prediction is at the class number";
  Items items(Emit &e, Id y_true, Id y_pred) const override { return {sparse_matches(e, y_true, y_pred), ops::none}; }
};

struct TopK : MeanMetric {
  int64_t k = 5;
  void fields(Fields &f) override {
    Metric::fields(f);
    f("k", k, "how many count").at_least(1);
  }
};

struct TopKCategoricalAccuracy : TopK {
  static constexpr const char *doc = "share of samples whose largest target is among the k largest predictions";
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {top_k_matches(e, argmax(e, t, -1), p, k), ops::none};
  }
};

struct SparseTopKCategoricalAccuracy : TopK {
  static constexpr const char *doc = "share of samples whose class number is among the k largest predictions";
  bool from_sorted_ids = false;
  void fields(Fields &f) override {
    TopK::fields(f);
    f("from_sorted_ids", from_sorted_ids,
      "predictions are class numbers, the best first: the class is to be among the first k");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id labels = class_numbers(e, y_true, y_pred);
    return {from_sorted_ids ? among_first(e, labels, y_pred, k) : top_k_matches(e, labels, y_pred, k), ops::none};
  }
};

class FScore : public Metric {
 public:
  void fields(Fields &f) override {
    Metric::fields(f);
    f("average", average, {"micro", "macro", "weighted"},
      "of the classes: counts together, mean, mean by their targets; null: a number for each class")
        .null_means(Average::none);
    f("threshold", threshold, "predictions above it say 1; null: the largest of each sample does").within(0, 1);
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
    f("beta", beta, "above 1 recall counts more, below 1 precision").at_least(0);
  }
  void check() override {
    FScore::check();
    if (beta == 0) refuse_attribute("beta", "expected more than 0, got 0");
  }
  std::string usual_name() const override { return "fbeta_score"; }
};

enum class Type { int64, int32, integer, float32 };

class Confusion : public Metric {
 public:
  Size size(const Shape &) const override { return {num_classes * num_classes, 1}; }
  // Absent classes do not count.
  void result(std::span<const double> sums, std::span<double> to) const override {
    const auto n = static_cast<size_t>(num_classes);
    double total = 0, occurring = 0;
    auto take = [&](size_t c) {
      double united = -sums[c * n + c];
      for (size_t i = 0; i < n; ++i) united += sums[c * n + i] + sums[i * n + c];
      if (!(united > 1e-9)) return;
      total += sums[c * n + c] / (united + 1e-7);
      ++occurring;
    };
    for (int64_t c : target_class_ids) take(static_cast<size_t>(c));
    for (size_t c = 0; target_class_ids.empty() && c < n; ++c) take(c);
    to[0] = total / (occurring + 1e-7);
  }

 protected:
  void type_field(Fields &f) {
    f("dtype", type, {"int64", "int32", "int", "float32"},
      "of the matrix: integers cut class numbers and weights to whole ones");
  }
  // t, p: class indices. Values that are no class, or the ignored one, do not count.
  std::vector<Id> matrix(Emit &e, Id y_true, Id y_pred, Id sample_weight) const {
    const Shape is = e.shape(y_true), said = e.shape(y_pred);
    if (is.known() && said.known() && is.elements() != said.elements())
      fail(Code::shape_mismatch, "targets have classes of shape ", is, ", predictions ", said);
    Id t = number(e, y_true), p = reshape_like(e, number(e, y_pred), t);
    Id valid = both(e, is_class(e, t), is_class(e, p));
    if (ignore_class)
      valid = both(e, valid, binary(e, Binary::not_equal, t, e.scalar(static_cast<double>(*ignore_class))));
    Id row = mul(e, cast(e, t, DType::i32), e.scalar(static_cast<double>(num_classes), DType::i32));
    Id cell = select(e, valid, add(e, row, cast(e, p, DType::i32)), e.scalar(-1, DType::i32));
    Id weight = none;
    if (sample_weight != none)
      weight = mul(e, all_ones(e, t), leading(e, number(e, sample_weight), t, "sample weights"));
    return {bucket_sums(e, cell, weight, num_classes * num_classes)};
  }

  int64_t num_classes = 2;
  std::vector<int64_t> target_class_ids;  // empty: all
  std::optional<int64_t> ignore_class;
  Type type = Type::int64;

 private:
  Id number(Emit &e, Id x) const { return cast(e, type == Type::float32 ? x : cast(e, x, DType::i32), DType::f32); }
  Id is_class(Emit &e, Id x) const {
    return binary(e, Binary::logical_and, binary(e, Binary::greater_equal, x, e.scalar(0)),
                  binary(e, Binary::less, x, e.scalar(static_cast<double>(num_classes))));
  }
};

struct IoU final : Confusion {
  struct Row : Entry {
    bool some, one_hot;  // some: only target_class_ids; one_hot: targets are scores or one-hot
  };
  explicit IoU(const Row &row) : row(row), sparse_y_true(!row.one_hot), sparse_y_pred(!row.one_hot) {}
  const Row &row;
  bool sparse_y_true, sparse_y_pred;
  int64_t axis = -1;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("num_classes", num_classes, "how many classes").required("3").within(1, 4096);
    if (row.some)
      f("target_class_ids", target_class_ids, "the classes that are measured").required("[0, 1]").at_least(0);
    f("ignore_class", ignore_class, "a target that does not count");
    if (!row.one_hot) f("sparse_y_true", sparse_y_true, "targets are class numbers, not one-hot");
    f("sparse_y_pred", sparse_y_pred, "predictions are class numbers, not a score for each class");
    f("axis", axis, "axis of the classes, where there is one");
    type_field(f);
  }
  void check() override {
    if (row.some && target_class_ids.empty())
      refuse_attribute("target_class_ids", "expected at least one class, got []");
    for (int64_t c : target_class_ids)
      if (c >= num_classes) refuse_attribute("target_class_ids", "expected classes below ", num_classes, ", got ", c);
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto class_of = [&](Id x, bool sparse) {
      return sparse ? x : argmax(e, cast(e, x, DType::f32), e.shape(x).axis(axis));
    };
    return matrix(e, class_of(y_true, sparse_y_true), class_of(y_pred, sparse_y_pred), sample_weight);
  }
};

struct BinaryIoU final : Confusion {
  static constexpr const char *doc =
      "mean over classes 0 and 1 of their hits over what is one in targets or predictions";
  double threshold = 0.5;

  BinaryIoU() { target_class_ids = {0, 1}; }
  void fields(Fields &f) override {
    Metric::fields(f);
    f("target_class_ids", target_class_ids, "the classes that are measured").within(0, 1);
    f("threshold", threshold, "predictions of at least this are class 1");
    type_field(f);
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    Id p = binary(e, Binary::greater_equal, cast(e, y_pred, DType::f32), e.scalar(threshold));
    return matrix(e, y_true, p, sample_weight);
  }
};

constexpr IoU::Row ious[] = {
    {row_of<IoU>("IoU", "mean over some classes of their hits over what is one in targets or predictions"), true,
     false},
    {row_of<IoU>("MeanIoU", "the same over all classes that occur"), false, false},
    {row_of<IoU>("OneHotIoU", "IoU of one-hot targets and scores"), true, true},
    {row_of<IoU>("OneHotMeanIoU", "MeanIoU of one-hot targets and scores"), false, true},
};

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

DL4_TABLE(IoUs, ious)
DL4_KINDS(accuracies, Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy, TopKCategoricalAccuracy,
          SparseTopKCategoricalAccuracy, F1Score, FBetaScore, BinaryIoU)
DL4_KINDS(regression, RootMeanSquaredError, R2Score, PearsonCorrelation, ConcordanceCorrelation, Mean, Sum)

}  // namespace dl4::kinds
