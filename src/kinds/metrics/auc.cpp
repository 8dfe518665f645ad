// AUC: area under a curve of decisions over thresholds.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/math.hpp"
#include "kinds/metrics/thresholds.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none;

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
    f("num_thresholds", num_thresholds).at_least(2).at_most(1e6).doc("how many, evenly from 0 to 1");
    f("curve", curve, {"ROC", "PR", "PRGAIN", "roc", "pr", "prgain"}).doc("which one");
    f("summation_method", summation_method,
      {"interpolation", "majoring", "minoring", "Interpolation", "Majoring", "Minoring"})
        .doc("between two thresholds: the mean, the larger or the smaller height; of PR the first interpolates counts");
    f("thresholds", given)
        .at_least(0)
        .at_most(1)
        .doc("these, beside one below 0 and one above 1, instead of even ones");
    f("multi_label", multi_label).doc("predictions are (B, labels): the mean of the labels' areas");
    f("num_labels", num_labels).at_least(0).doc("how many labels, if it is to be checked");
    f("label_weights", label_weights).doc("weights of the labels in that mean, else of the last axis's decisions");
    f("from_logits", from_logits).doc("predictions are logits");
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

DL4_KINDS(auc, AUC)

}  // namespace dl4::kinds
