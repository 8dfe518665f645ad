// Counts of decisions, precision, recall, and the best of one where another reaches a given value.
#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "kinds/metrics/thresholds.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::none;

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
  f("class_id", place).doc("look at this number of the last axis alone; null: at all of them");
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
    f("thresholds", given)
        .at_least(0)
        .at_most(1)
        .doc("one or several, a number for each comes out: predictions above it say 1; null is 0.5");
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
    f("top_k", top_k).at_least(1).doc("only the k largest of the last axis may say 1, by default whatever they are");
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
    f(row.key, least).required("0.5").at_least(0).at_most(1).doc("what it must be at least");
    f("num_thresholds", num_thresholds).at_least(1).at_most(1e6).doc("how many are tried, evenly from 0 to 1");
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

}  // namespace

DL4_TABLE(confusion, counts, shares, best)

}  // namespace dl4::kinds
