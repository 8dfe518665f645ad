// Metrics of binary decisions, by counts on either side of thresholds: counts, precision, recall, the best of one where
// another reaches a given value, and the area under a curve of decisions over thresholds.
#include <cmath>
#include <numeric>

#include "base/math.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary, ops::none;

// Counts of right and wrong decisions at one threshold; a prediction above it is positive.
struct Counts {
  double true_positives, false_positives, true_negatives, false_negatives;
};

// Histograms of predictions between the thresholds, for targets 0 and 1 separately: the number of sums does not grow
// with the number of results, and the counts at each threshold follow.
class Thresholds {
 public:
  // Thresholds in [0, 1], in any order. `beyond`: adds one below and one above, as AUC does. `evenly`: they are
  // even_thresholds(), which with few thresholds can't be detected.
  explicit Thresholds(const std::vector<double> &list = {0.5}, bool beyond = false, bool evenly = false);

  int64_t count() const { return static_cast<int64_t>(order_.size()); }
  int64_t sums() const { return 2 * (count() + 1); }  // per label
  // weight: none, or shaped as p. per_label: sums for each index of the last axis.
  Id emit(Emit &e, Id t, Id p, Id weight, bool per_label = false) const;
  // Calls f(i, counts at thresholds[i]) from the highest threshold to the lowest.
  template <class F>
  void each(std::span<const double> sums, F f) const {
    const size_t n = order_.size();
    double negatives = 0, positives = 0;
    for (size_t i = 0; i <= n; ++i) negatives += sums[i], positives += sums[n + 1 + i];
    Counts c{0, 0, negatives, positives};
    for (size_t i = n; i-- > 0;) {
      c.false_positives += sums[i + 1];
      c.true_positives += sums[n + 2 + i];
      c.true_negatives = negatives - c.false_positives;
      c.false_negatives = positives - c.true_positives;
      f(order_[i], c);
    }
  }

 private:
  bool evenly_ = false;
  std::vector<size_t> order_;  // indices into the list, in ascending order
  std::vector<float> bounds_;  // predictions above the i-th bound are above that threshold
};

// Keras's criterion.
bool are_even(const std::vector<double> &list) {
  if (list.size() < 3) return false;
  for (size_t i = 0; i < list.size(); ++i) {
    const double even = static_cast<double>(static_cast<float>(i) / static_cast<float>(list.size() - 1));
    if (!(std::abs(list[i] - even) <= 1e-7 + 1e-5 * even)) return false;
  }
  return true;
}

// For even thresholds Keras tests ceil(p * steps) > i in float32: the largest p for which that is false.
float even_bound(size_t i, size_t steps) {
  if (i == 0) return 0;
  const auto n = static_cast<float>(steps), limit = static_cast<float>(i);
  float bound = limit / n;
  while (bound * n > limit) bound = std::nextafter(bound, 0.0f);
  while (std::nextafter(bound, 2.0f) * n <= limit) bound = std::nextafter(bound, 2.0f);
  return bound;
}

// Evenly spaced from 0 to 1; a single one is 0.5.
std::vector<double> even_thresholds(int64_t count) {
  if (count == 1) return {0.5};
  std::vector<double> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  return list;
}

Thresholds::Thresholds(const std::vector<double> &list, bool beyond, bool evenly) {
  std::vector<double> all = list;
  if (beyond) {
    std::sort(all.begin(), all.end());
    all.insert(all.begin(), 0);
    all.push_back(1);
  }
  evenly_ = evenly || are_even(all);
  order_.resize(all.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return all[a] < all[b]; });
  for (size_t i : order_) bounds_.push_back(evenly_ ? even_bound(i, all.size() - 1) : static_cast<float>(all[i]));
  if (!beyond) return;
  bounds_.front() = evenly_ ? -1.0f : static_cast<float>(0 - 1e-7);
  if (!evenly_) bounds_.back() = static_cast<float>(1 + 1e-7);
}

Id Thresholds::emit(Emit &e, Id t, Id p, Id weight, bool per_label) const {
  if (evenly_) p = unary(e, Unary::clip, p, {0, 1});
  Tensor bounds = make_tensor(DType::f32, {count()});
  std::copy(bounds_.begin(), bounds_.end(), bounds.as<float>());
  auto number = [&](int64_t v) { return e.scalar(static_cast<double>(v), DType::i32); };
  Id is_one = cast(e, binary(e, Binary::not_equal, t, e.scalar(0)), DType::i32);
  Id bucket = add(e, bucketize(e, p, e.constant(std::move(bounds))), mul(e, is_one, number(count() + 1)));
  if (!per_label) return bucket_sums(e, bucket, weight, sums());
  const int64_t labels = e.shape(p).last();
  Tensor first = make_tensor(DType::i32, {labels});
  for (int64_t i = 0; i < labels; ++i) first.as<int32_t>()[i] = static_cast<int32_t>(i * sums());
  return bucket_sums(e, add(e, bucket, e.constant(std::move(first))), weight, labels * sums());
}

// Sample weights broadcast to the shape of p, or none.
Id weights_like(Emit &e, Id sample_weight, Id p) {
  if (sample_weight == none) return none;
  return mul(e, all_ones(e, p), leading(e, cast(e, sample_weight, DType::f32), p, "sample weights"));
}

using Cell = double Counts::*;
constexpr Cell tp = &Counts::true_positives, fp = &Counts::false_positives, tn = &Counts::true_negatives,
               fn = &Counts::false_negatives;
// hits / (hits + misses).
struct Ratio {
  Cell hits, misses;
  double of(const Counts &c) const { return quotient(c.*hits, c.*hits + c.*misses); }
};
constexpr Ratio precision{tp, fp}, recall{tp, fn}, specificity{tn, fp};

void class_id_field(Fields &f, std::optional<int64_t> &place) {
  f("class_id", place, "look at this number of the last axis alone; null: at all of them");
}

Id one_class(Emit &e, Id x, int64_t id) {
  const int64_t classes = e.shape(x).last();
  if (e.rank(x) < 2 || (classes != free_dim && (id >= classes || id < -classes)))
    fail(Code::shape_mismatch, "\"class_id\": expected one of the numbers of the last axis, got ", id,
         " for predictions ", e.shape(x));
  return slice(e, x, -1, id, 1);
}

// ---- at thresholds -------------------------------------------------------------------------------------------------

class AtThresholds : public Metric {
 public:
  void fields(Fields &f) override {
    Metric::fields(f);
    f("thresholds", given, "one or several, a number for each comes out: predictions above it say 1; null is 0.5")
        .within(0, 1);
  }
  void check() override {
    if (given && given->empty()) refuse_attribute("thresholds", "expected at least one, got []");
    thresholds = Thresholds(given.value_or(std::vector{0.5}));
  }
  Size size(const Shape &) const override { return {thresholds.sums(), thresholds.count()}; }
  void result(std::span<const double> sums, std::span<double> to) const override {
    thresholds.each(sums, [&](size_t i, const Counts &c) { to[i] = value(c); });
  }
  virtual double value(const Counts &c) const = 0;

 protected:
  std::optional<std::vector<double>> given;
  Thresholds thresholds;
};

struct Count final : AtThresholds {
  struct Row : Entry {
    Cell part;
  };
  explicit Count(const Row &row) : row(row) {}
  const Row &row;

  std::optional<bool> rises() const override { return std::nullopt; }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {thresholds.emit(e, t, p, weights_like(e, sample_weight, p))};
  }
  double value(const Counts &c) const override { return c.*row.part; }
};

struct Share final : AtThresholds {
  struct Row : Entry {
    Ratio ratio;
  };
  explicit Share(const Row &row) : row(row) {}
  const Row &row;
  std::optional<int64_t> top_k, class_id;

  static constexpr double lowest = -1e10;  // of predictions outside the k largest

  void fields(Fields &f) override {
    AtThresholds::fields(f);
    f("top_k", top_k, "only the k largest of the last axis may say 1, by default whatever they are").at_least(1);
    class_id_field(f, class_id);
  }
  void check() override {
    AtThresholds::check();
    if (top_k && !given) thresholds = Thresholds({lowest});
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    if (top_k) p = select(e, ops::top_k(e, p, *top_k), p, e.scalar(lowest));
    if (class_id) t = one_class(e, t, *class_id), p = one_class(e, p, *class_id);
    return {thresholds.emit(e, t, p, weights_like(e, sample_weight, p))};
  }
  double value(const Counts &c) const override { return row.ratio.of(c); }
};

// ---- best value ---------------------------------------------------------------------------------------------------

struct Best final : Metric {
  struct Row : Entry {
    const char *key;
    Ratio limited, wanted;
  };
  explicit Best(const Row &row) : row(row) {}
  const Row &row;
  double least = 0;
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id;
  Thresholds thresholds;

  void fields(Fields &f) override {
    Metric::fields(f);
    f(row.key, least, "what it must be at least").required("0.5").within(0, 1);
    f("num_thresholds", num_thresholds, "how many are tried, evenly from 0 to 1").within(1, 1e6);
    class_id_field(f, class_id);
  }
  void check() override { thresholds = Thresholds(even_thresholds(num_thresholds), false, num_thresholds > 1); }
  Size size(const Shape &) const override { return {thresholds.sums(), 1}; }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    if (class_id) t = one_class(e, t, *class_id), p = one_class(e, p, *class_id);
    return {thresholds.emit(e, t, p, weights_like(e, sample_weight, p))};
  }
  // Keras compares in float32.
  void result(std::span<const double> sums, std::span<double> to) const override {
    to[0] = 0;
    thresholds.each(sums, [&](size_t, const Counts &c) {
      if (static_cast<float>(row.limited.of(c)) >= static_cast<float>(least)) to[0] = std::max(to[0], row.wanted.of(c));
    });
  }
};

constexpr Count::Row counts[] = {
    {row_of<Count>("TruePositives", "how often 1 was said and right"), tp},
    {row_of<Count>("FalsePositives", "how often 1 was said and wrong"), fp},
    {row_of<Count>("TrueNegatives", "how often 0 was said and right"), tn},
    {row_of<Count>("FalseNegatives", "how often 0 was said and wrong"), fn},
};
constexpr Share::Row shares[] = {
    {row_of<Share>("Precision", "share of the targets 1 where 1 was said; 0 where it never was"), precision},
    {row_of<Share>("Recall", "share of the targets 1 that were found; 0 where there are none"), recall},
};
constexpr Best::Row best[] = {
    {row_of<Best>("SensitivityAtSpecificity", "the best recall at a threshold of at least this specificity"),
     "specificity", specificity, recall},
    {row_of<Best>("SpecificityAtSensitivity", "the best specificity at a threshold of at least this recall"),
     "sensitivity", recall, specificity},
    {row_of<Best>("PrecisionAtRecall", "the best precision at a threshold of at least this recall"), "recall", recall,
     precision},
    {row_of<Best>("RecallAtPrecision", "the best recall at a threshold of at least this precision"), "precision",
     precision, recall},
};

struct AUC : Metric {
  static constexpr const char *doc =
      "area under the curve of true over false positives (ROC), of precision over recall (PR) or of their gains, of "
      "predictions from 0 to 1";
  enum class Curve { roc, pr, prgain, small_roc, small_pr, small_prgain };
  enum class Method { interpolation, majoring, minoring, large_interpolation, large_majoring, large_minoring };

  int64_t num_thresholds = 200;
  Curve curve = Curve::roc;
  Method summation_method = Method::interpolation;
  std::optional<std::vector<double>> given;
  bool multi_label = false, from_logits = false;
  std::optional<int64_t> num_labels;
  std::optional<std::vector<double>> label_weights;
  Thresholds thresholds;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("num_thresholds", num_thresholds, "how many, evenly from 0 to 1").within(2, 1e6);
    f("curve", curve, {"ROC", "PR", "PRGAIN", "roc", "pr", "prgain"}, "which one");
    f("summation_method", summation_method,
      {"interpolation", "majoring", "minoring", "Interpolation", "Majoring", "Minoring"},
      "between two thresholds: the mean, the larger or the smaller height; of PR the first interpolates counts");
    f("thresholds", given, "these, beside one below 0 and one above 1, instead of even ones").within(0, 1);
    f("multi_label", multi_label, "predictions are (B, labels): the mean of the labels' areas");
    f("num_labels", num_labels, "how many labels, if it is to be checked").at_least(0);
    f("label_weights", label_weights, "weights of the labels in that mean, else of the last axis's decisions");
    f("from_logits", from_logits, "predictions are logits");
  }
  void check() override {
    if (num_labels.value_or(0) && !multi_label)
      refuse_attribute("num_labels", "expected null unless \"multi_label\" is true");
    if (label_weights && label_weights->empty())
      refuse_attribute("label_weights", "expected at least one number, got []");
    std::vector<double> inner = given ? *given : even_thresholds(num_thresholds);
    if (!given) inner = {inner.begin() + 1, inner.end() - 1};
    thresholds = Thresholds(inner, true, !given);
  }

  Size size(const Shape &prediction) const override {
    return {multi_label ? checked_mul(labels(prediction), thresholds.sums()) : thresholds.sums(), 1};
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    if (from_logits) p = unary(e, ops::Unary::sigmoid, p);
    Id weight = weights_like(e, sample_weight, p);
    if (multi_label) {
      labels(e.shape(p));
    } else if (label_weights) {
      Tensor numbers = make_tensor(DType::f32, {static_cast<int64_t>(label_weights->size())});
      for (size_t i = 0; i < label_weights->size(); ++i)
        numbers.as<float>()[i] = static_cast<float>((*label_weights)[i]);
      weight = mul(e, weight == none ? all_ones(e, p) : weight, e.constant(std::move(numbers)));
    }
    return {thresholds.emit(e, t, p, weight, multi_label)};
  }

  void result(std::span<const double> sums, std::span<double> to) const override {
    const auto each = static_cast<size_t>(thresholds.sums());
    double total = 0, parts = 0;
    for (size_t label = 0; label * each < sums.size(); ++label) {
      const double weight = multi_label && label_weights ? (*label_weights)[label] : 1;
      total += weight * area(sums.subspan(label * each, each));
      parts += weight;
    }
    to[0] = quotient(total, parts);
  }

 private:
  struct Point {
    double x, y;
  };

  int64_t labels(const Shape &prediction) const {
    if (prediction.rank() != 2 || prediction.last() == free_dim)
      fail(Code::shape_mismatch, "\"multi_label\": expected predictions (B, labels), got ", prediction);
    const int64_t n = prediction.last();
    if (num_labels.value_or(0) && *num_labels != n)
      fail(Code::shape_mismatch, "\"num_labels\": expected ", *num_labels, " labels, got predictions ", prediction);
    if (label_weights && static_cast<int64_t>(label_weights->size()) != n)
      fail(Code::shape_mismatch, "\"label_weights\": expected ", n, " numbers for predictions ", prediction, ", got ",
           label_weights->size());
    return n;
  }

  Curve kind() const { return static_cast<Curve>(static_cast<int>(curve) % 3); }
  Method method() const { return static_cast<Method>(static_cast<int>(summation_method) % 3); }

  double area(std::span<const double> sums) const {
    const bool counts = kind() == Curve::pr && method() == Method::interpolation;
    double total = 0;
    std::optional<Counts> above;
    thresholds.each(sums, [&](size_t, const Counts &c) {
      if (above) total += counts ? precision_part(c, *above) : part(point(c), point(*above));
      above = c;
    });
    return total;
  }

  double part(Point a, Point above) const {
    const double height = method() == Method::interpolation ? (a.y + above.y) / 2
                          : method() == Method::minoring    ? std::min(a.y, above.y)
                                                            : std::max(a.y, above.y);
    return (a.x - above.x) * height;
  }

  Point point(const Counts &c) const {
    const double hits = c.true_positives, alarms = c.false_positives;
    const double recall = quotient(hits, hits + c.false_negatives);
    if (kind() == Curve::roc) return {quotient(alarms, alarms + c.true_negatives), recall};
    if (kind() == Curve::pr) return {recall, quotient(hits, hits + alarms)};
    if (hits == 0) return {0, 1};
    const double odds = quotient(hits + c.false_negatives, c.true_negatives + alarms);
    return {std::max(1 - odds * c.false_negatives / hits, 0.0), 1 - odds * alarms / hits};
  }

  // Davis and Goadrich 2006: counts are interpolated linearly between thresholds.
  static double precision_part(const Counts &c, const Counts &above) {
    const double hits = c.true_positives - above.true_positives;
    const double said = c.true_positives + c.false_positives, said_above = above.true_positives + above.false_positives;
    const double slope = quotient(hits, std::max(said - said_above, 0.0));
    const double start = above.true_positives - slope * said_above;
    const double ratio = said > 0 && said_above > 0 ? said / said_above : 1;
    return quotient(slope * (hits + start * math::log(ratio)), above.true_positives + above.false_negatives);
  }
};

}  // namespace

DL4_TABLE(confusion, counts, shares, best)
DL4_KINDS(auc, AUC)

}  // namespace dl4::kinds
