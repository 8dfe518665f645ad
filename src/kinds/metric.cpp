// Shared by all metrics: means over samples with weights and masks, and metrics of losses.
#include "kinds/metric.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kinds/inner_layer.hpp"
#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none, ops::Reduce;

bool is_accuracy(const Json &j) {
  std::string s;
  if (j.is_string())
    for (char c : j.get<std::string>()) s += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return s == "accuracy" || s == "acc";
}

// Sum over the batch of each sample's mean.
Id sum_of_means(Emit &e, Id v) {
  std::vector<int> inner;
  for (int i = 1; i < e.rank(v); ++i) inner.push_back(i);
  return reduce(e, Reduce::sum, inner.empty() ? v : reduce(e, Reduce::mean, v, inner), {});
}

class MeanOfLossMetric final : public MeanMetric {
 public:
  using Row = MeanOfLoss;
  explicit MeanOfLossMetric(const Row &row) : row_(row), loss_(row.loss.fresh(row.loss)) {}
  void fields(Fields &f) override {
    Metric::fields(f);
    loss_->fields(f);
    f.drop("reduction");
  }
  void check() override { loss_->check(); }
  std::string usual_name() const override {
    return row_.log_name.empty() ? Metric::usual_name() : std::string(row_.log_name);
  }
  std::optional<bool> rises() const override { return row_.rises; }
  Json more() const override {
    Json all = Metric::more();
    all["doc"] = text("mean of ", row_.doc);
    return all;
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return static_cast<const Loss &>(*loss_).items(e, y_true, y_pred);
  }
  bool joins_samples(int rank) const override { return static_cast<const Loss &>(*loss_).joins_samples(rank); }

 private:
  const Row &row_;
  std::unique_ptr<Kind> loss_;
};

}  // namespace

std::string Metric::usual_name() const { return snake_case(entry().name); }

Json Metric::more() const {
  Json all{{"log_name", usual_name()}};
  if (const auto up = rises()) all["direction"] = *up ? "up" : "down";
  return all;
}

void Metric::fields(Fields &f) { f("name", given_name, "name in logs and history"); }

std::vector<Id> sums_of_mean(Emit &e, const Items &items, Id sample_weight, Id mask) {
  Id v = items.value;
  const Id zero = e.scalar(0);
  if (sample_weight == none && mask == none) {  // then Keras counts invalid items as 0
    if (items.valid != none) v = select(e, items.valid, v, zero);
    return {sum_of_means(e, v), reduce(e, Reduce::sum, fill(e, DType::f32, 1, v, std::min(e.rank(v), 1), {}), {})};
  }
  const Id valid = both(e, mask == none ? none : leading(e, mask, v, "masks"), items.valid);
  Id parts = all_ones(e, v);
  if (sample_weight != none) {
    Id weight = leading(e, cast(e, sample_weight, DType::f32), v, "sample weights");
    v = mul(e, v, weight);
    parts = mul(e, parts, weight);
  }
  if (valid != none) {
    v = select(e, valid, v, zero);
    parts = select(e, valid, parts, zero);
  }
  return {sum_of_means(e, v), sum_of_means(e, parts)};
}

std::vector<Id> MeanMetric::sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask) const {
  return sums_of_mean(e, items(e, y_true, y_pred), sample_weight, mask);
}

void MeanMetric::result(std::span<const double> sums, std::span<double> to) const {
  to[0] = quotient(sums[0], sums[1]);
}

Of<Metric> metric_for(const Json &identifier) {
  if (identifier.is_null()) expected("a metric", identifier);
  if (!identifier.is_string()) return parse<Metric>(identifier);
  Json config{{"name", identifier}}, class_name = identifier;
  if (is_accuracy(identifier)) {
    class_name = "Accuracy";
    config["by_shape"] = true;
  }
  return parse<Metric>({{"class_name", class_name}, {"config", config}});
}

std::unique_ptr<Kind> fresh_mean_of_loss(const Entry &self) { return fresh<MeanOfLossMetric>(self); }

void list_mean(Entries &all, const Entry &loss) { list(all, kept(std::make_unique<MeanOfLoss>(loss))); }

}  // namespace dl4::kinds
