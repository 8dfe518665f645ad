// Losses and metrics of layers.
#include "kinds/loss.hpp"
#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "kinds/metric.hpp"

namespace dl4::kinds {
namespace {

struct LossLayer : LayerOf<LossLayer> {
  static constexpr const char *name = "Loss";
  static constexpr const char *doc =
      "A loss, called on targets, predictions and, if wanted, sample weights; the mask of the predictions counts. Its "
      "reduction decides whether a number comes out or, with \"none\", a value for each item.";
  Of<Loss> loss;

  void fields(Fields &f) override {
    f("loss", loss, "the loss").required(R"({"class_name": "Huber", "config": {"reduction": "none"}})");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"y_true", "(B, ...)"}, {"y_pred", "(B, ...)"}, {"sample_weight", "(B) or (B, ...)"}},
      .outputs = {{"loss", "(), with reduction none the shape of the items"}}};
  Arity arity() const override { return {2, 3}; }
  void check() override {
    if (!loss) refuse_attribute("loss", "expected a loss, got null");
  }

  std::vector<Symbol> call(Call &c) const override {
    return {{loss->value(c.e, c.x(0), c.x(1), c.in.size() > 2 ? c.x(2) : ops::none, c.mask(1))}};
  }
};

struct MetricLayer : LayerOf<MetricLayer> {
  static constexpr const char *name = "Metric";
  static constexpr const char *doc =
      "A metric that is a mean over samples, called on targets, predictions and, if wanted, sample weights; the mask "
      "of the predictions counts.";
  Of<Metric> metric;

  void fields(Fields &f) override {
    f("metric", metric, "the metric; \"accuracy\" chooses by the shapes").required(R"("mae")");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"y_true", "(B, ...)"}, {"y_pred", "(B, ...)"}, {"sample_weight", "(B) or (B, ...)"}},
      .outputs = {{"mean", "(): total / count, 0 where nothing counts"},
                  {"total", "(): to be summed over batches"},
                  {"count", "(): to be summed over batches"}}};
  Arity arity() const override { return {2, 3}; }

  void check() override {
    if (dynamic_cast<const MeanMetric *>(metric.get())) return;
    unsupported_attribute("metric", "expected a mean over samples, which has a total and a count, got ",
                          metric->entry().name);
  }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    const std::vector<ops::Id> sums = metric->sums(e, c.x(0), c.x(1), c.in.size() > 2 ? c.x(2) : ops::none, c.mask(1));
    ops::Id total = sums[0], count = sums[1];
    ops::Id some = binary(e, ops::Binary::not_equal, count, e.scalar(0));
    ops::Id mean = select(e, some, div(e, total, select(e, some, count, e.scalar(1))), e.scalar(0));
    return {{mean}, {total}, {count}};
  }
};

}  // namespace
DL4_KINDS(loss, LossLayer, MetricLayer)
}  // namespace dl4::kinds
