// Metric: a metric as a part of a graph.
#include "kinds/layer.hpp"
#include "kinds/layers/facts.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds {

// As a trainer takes it: "accuracy" chooses by the shapes.
struct TrainersMetric {
  Of<Metric> metric;
};

template <>
struct Convert<TrainersMetric> {
  static constexpr const char *type = "attrs";
  static constexpr const char *category = Metric::category;
  static TrainersMetric from(const Json &j) { return {metric_for(j)}; }
  static Json to(const TrainersMetric &v) { return to_json(v.metric.get()); }
};

namespace {

struct MetricLayer : Layer {
  static constexpr const char *name = "Metric";
  static constexpr const char *doc =
      "A metric, called on targets, predictions and, if wanted, sample weights; the mask of the predictions counts.";
  TrainersMetric metric;

  static auto fields() {
    return std::tuple{
        field("metric", &MetricLayer::metric).required().doc("the metric; \"accuracy\" chooses by the shapes")};
  }
  static Json more() {
    return Facts{.inputs = {{"y_true", "(B, ...)"}, {"y_pred", "(B, ...)"}, {"sample_weight", "(B) or (B, ...)"}},
                 .outputs = {{"mean", "(): total / count, 0 where nothing counts"},
                             {"total", "(): to be summed over batches"},
                             {"count", "(): to be summed over batches"}}}
        .json();
  }
  Arity arity() const override { return {2, 3}; }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    auto [total, count] = metric.metric->mean(e, c.x(0), c.x(1), c.in.size() > 2 ? c.x(2) : ops::none, c.mask(1));
    ops::Id some = binary(e, ops::Binary::not_equal, count, e.scalar(0));
    ops::Id mean = select(e, some, div(e, total, select(e, some, count, e.scalar(1))), e.scalar(0));
    return {{mean}, {total}, {count}};
  }
};

}  // namespace
DL4_KIND(MetricLayer)
}  // namespace dl4::kinds
